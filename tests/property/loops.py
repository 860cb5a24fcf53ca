"""Random programs with a loop, as source text: what comes before it, what it goes through, what it leaves.

`loss(W, E, s, x, q)` has arrays of shapes (4, 4), (4, 5), (4,), (n, 5) and (n,).
"""

from __future__ import annotations

import random

#: the line of the loop, how its body calls a row of x, and an element of q
HEADS = [
    ("for t in range(len(x)):", "x[t]", "q[t]"),
    ("for t in range(1, len(x)):", "x[t]", "q[t]"),
    ("for t in range(len(x) - 1):", "x[t + 1]", "q[t]"),
    ("for t in range(len(x) - 1, -1, -1):", "x[t]", "q[t]"),
    ("for t in range(len(x) - 2, -1, -1):", "x[t]", "q[t + 1]"),
    ("for t in reversed(range(len(x))):", "x[t]", "q[t] * x[t, 1]"),
    ("for row in x:", "row", "q[0]"),
    ("for row in x[1:]:", "row", "row[0]"),
    ("for t, row in enumerate(x):", "row", "q[t]"),
    ("for row, each in zip(x, q):", "row", "each"),
]
STARTS = ["s", "s + E @ x[0]", "E @ x[-1] + s", "np.tanh(s)", "s * 2.0", "np.zeros(4)"]
TERMS = [
    "W @ h", "h", "h @ W", "np.tanh(h)", "np.sum(W * h[:, None], axis=0)", "np.sum(h[..., None] * W, axis=1)",
    "np.maximum(h, 0.1)", "h - np.max(h)", "h / (1.0 + np.sum(h * h))",
]  # fmt: skip
INPUTS = ["E @ {row}", "np.sum({row})", "{row}[:4]", "{row}[1:]", "{row}[0]", "{element}", "s"]
FUNCTIONS = ["np.tanh({})", "np.sin({})", "0.3 * ({})", "1.0 / (1.0 + np.exp(-({})))"]
SECOND = ["0.5 * c + 0.1 * h", "np.tanh(c + h)", "c + 0.01 * h", "h"]
SUMS = ["np.sum(h)", "np.log(1.0 + np.sum(h * h))", "h[1]", "np.mean((h - {row}[:4]) ** 2)", "h", "W @ h"]
ENDS = ["h = h / np.sqrt(1.0 + np.sum(h * h))", "h = h - np.mean(h)", "h = np.exp(-h * h)"]
STACKS = [
    "np.sum(np.stack(out) ** 2)", "np.mean(np.array(out))", "np.sum(np.stack(out)[1:] * np.stack(out)[:-1])",
    "np.sum(out[-1]) + np.sum(out[2])", "np.sum(np.stack(out[::-1])[2:])",
]  # fmt: skip


def program(r: random.Random) -> str:
    """The text of a module with `loss`."""
    head, row, element = r.choice(HEADS)
    second, summed, kept = r.random() < 0.35, r.random() < 0.5, r.random() < 0.5
    terms = [r.choice([*TERMS, *(["c", "W @ (c + h)"] if second else [])])]
    terms += [r.choice(INPUTS) for _ in range(r.choice([0, 1, 1, 2]))]
    new = r.choice(FUNCTIONS).format(" + ".join(terms).format(row=row, element=element))
    before, body, results = [f"h = {r.choice(STARTS)}"], [f"h = {new}"], ["np.sum(h * h)"]
    if second:
        before.append(f"c = {r.choice(['s', 'np.zeros(4)', '0.0', 'h * 0.5'])}")
        body.insert(r.randrange(2), f"c = {r.choice(SECOND)}")
        results.append("np.sum(c)")
    if summed:
        before.append(f"total = {r.choice(['0.0', '0'])}")
        body.append(f"total = total + {r.choice(SUMS).format(row=row)}")
        results.append("np.sum(total)")
    if kept:
        before.append(f"out = {r.choice(['[]', '[]', '[h]'])}")
        body.append(f"out.append({r.choice(['h', 'h', 'h * 2.0'])})")
        results.append(r.choice(STACKS))
    if r.random() < 0.25:
        body.append(r.choice(ENDS))
    r.shuffle(results)
    return "\n".join([
        "import numpy as np",
        "def loss(W, E, s, x, q):",
        *(f"    {line}" for line in before),
        f"    {head}",
        *(f"        {line}" for line in body),
        f"    return {' + '.join(results[: r.choice([1, 2, 3])])}",
        "",
    ])  # fmt: skip
