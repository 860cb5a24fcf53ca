"""The docstring of a generated function: what it computes, from what, and what was kept for it.

Gradients of logistic_loss (model.py:8) with respect to w and b.

inputs   w f64[5], b f64[], X f64[100,5], y f64[100]
saved    p f64[100]                                             0.8 kB
returns  g_w f64[5], g_b f64[]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap

from srcdiff.aval import Aval
from srcdiff.core.program import Node, Program

MOST_OF_A_KIND = 4
_COLUMN = 64
_WIDTH = 92


@dataclass(frozen=True, slots=True)
class Header:
    """What only the pipeline knows. `saved` are those inputs of the program that are intermediate values."""

    function: str
    place: str = ""
    wrt: tuple[str, ...] = ()
    inputs: tuple[tuple[str, Aval], ...] = ()
    saved: tuple[Node, ...] = ()
    notes: tuple[str, ...] = ()
    #: a derivative along tangents of `wrt`, not gradients with respect to them
    forward: bool = False
    what: str = "Gradients"


def docstring(header: Header, program: Program, names: Mapping[Node, str]) -> str:
    """The text, with the names that the values have in the function."""
    where = f" ({header.place})" if header.place else ""
    if header.forward:
        lines = wrap(f"The derivative of {header.function}{where} along {listed(header.wrt)}.", _WIDTH)
    else:
        wrt = f" with respect to {listed(header.wrt)}" if header.wrt else ""
        lines = wrap(f"{header.what} of {header.function}{where}{wrt}.", _WIDTH)
    rows = _row("inputs", header.inputs)
    saved = [(names[node], node.aval) for node in header.saved]
    rows += _row("saved", _runs(saved), size(sum(aval.nbytes for _, aval in saved)) if saved else "")
    results = []
    for k, out in enumerate(program.outputs):
        known = k < len(header.wrt) and not header.forward
        label = f"g_{header.wrt[k]}" if known else "t_out" if header.forward else f"output {k}"
        results.append((label, None) if out is None else (names.get(out, label), out.aval))
    rows += _row("returns", results)
    rows += [line for note in header.notes for line in wrap(note, _WIDTH, subsequent_indent=" " * 9)]
    return "\n".join([*lines, "", *rows]) + "\n" if rows else "\n".join(lines)


def _runs(values: Sequence[tuple[str, Aval]]) -> list[tuple[str, Aval]]:
    """Many values in a row of one name and type, as loops leave them, given as the first and the last of them."""
    runs = [list(run) for _, run in groupby(values, key=lambda value: (re.sub(r"_\d+$", "", value[0]), value[1]))]
    short: list[tuple[str, Aval]] = []
    for run in runs:
        (first, aval), (last, _) = run[0], run[-1]
        short += [(f"{first} ... {last}", aval)] if len(run) > MOST_OF_A_KIND else run
    return short


def listed(names: Iterable[str]) -> str:
    """w, b and c."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def size(count: int) -> str:
    """A number of bytes for a reader: 0.8 kB, 12 MB."""
    value = count / 1000
    for unit in ("kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"


def _row(title: str, values: Iterable[tuple[str, Aval | None]], right: str = "") -> list[str]:
    texts = [f"{name} {aval}" if aval is not None else f"{name} None" for name, aval in values]
    if not texts:
        return []
    lines = wrap(
        ", ".join(text.replace(" ", "\0") for text in texts), _WIDTH,
        initial_indent=f"{title:9}", subsequent_indent=" " * 9, break_long_words=False,
    )  # fmt: skip
    lines = [line.replace("\0", " ") for line in lines]
    if right:
        lines[0] = f"{lines[0]:<{_COLUMN - 2}}  {right}"
    return lines
