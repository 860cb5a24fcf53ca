"""Ordinary Python decides what is computed: a loop whose length depends on the data, differentiated as it ran.

    python examples/control_flow.py

`lambert` solves x * exp(x) = y by Newton's method, in as many steps as it takes. Its derivative comes from the steps
that were taken, and agrees with the formula 1 / ((1 + x) exp(x)).
"""

from __future__ import annotations

import numpy as np

import srcdiff as sd


def lambert(y):
    """The x with x * exp(x) = y, for y >= 0, and the number of Newton steps that led to it."""
    x = np.log(1 + y)
    steps = 0
    while abs(x * np.exp(x) - y) > 1e-12 * (1 + y):
        x = x - (x * np.exp(x) - y) / ((1 + x) * np.exp(x))
        steps += 1
    return x, steps


def main() -> list[tuple[float, float]]:
    """Print slopes and formulas; gives the pairs."""
    slope = sd.value_and_grad(lambert, has_aux=True)
    pairs = []
    print("      y  steps         x     slope   formula")
    for y in (0.0, 0.5, 1.0, 10.0, 1e4, 0.7, 2.0, 0.9, 3.0):
        (x, steps), dx = slope(y)
        formula = float(1 / ((1 + x) * np.exp(x)))
        print(f"{y:7g} {steps:6d} {x:9.5f} {dx:9.6f} {formula:9.6f}")
        pairs.append((dx, formula))
    info = slope.cache_info()
    print("\nEach number of steps is a graph of its own: walked the first time, compiled the second, found after that.")
    print(f"Of {info.traced} calls {info.misses} compiled their graph and {info.hits} found it compiled.")
    return pairs


if __name__ == "__main__":
    main()
