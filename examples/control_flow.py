"""Ordinary Python decides what is computed: a loop whose length depends on the data, differentiated as it ran.

    python examples/control_flow.py

`root` solves x * exp(x) = y by Newton's method, as many steps as it takes; its derivative with respect to y comes from the
steps that were taken, and agrees with the formula 1 / ((1 + x) exp(x)).
"""

from __future__ import annotations

import numpy as np

import srcdiff as sd


def root(y):
    """The Lambert W function of y >= 0, by Newton's method."""
    x = np.log(1 + y)
    while abs(x * np.exp(x) - y) > 1e-12 * (1 + y):
        x = x - (x * np.exp(x) - y) / ((1 + x) * np.exp(x))
    return x


def main() -> list[tuple[float, float]]:
    """Print slopes and formulas; gives the pairs."""
    slope = sd.value_and_grad(root)
    pairs = []
    print("    y      root     slope   formula")
    for y in (0.0, 0.5, 1.0, 10.0, 1e4):
        x, dx = slope(y)
        formula = 1 / ((1 + x) * np.exp(x))
        print(f"{y:7g} {x:9.5f} {dx:9.6f} {formula:9.6f}")
        pairs.append((dx, float(formula)))
    info = slope.cache_info()
    print(f"\n{info.traced} calls; graphs of different lengths are different programs, so {info.misses} were compiled")
    return pairs


if __name__ == "__main__":
    main()
