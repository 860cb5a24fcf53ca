"""Random programs as a user might write them: NumPy functions, operators, branches, loops, views and writes.

A program runs on arrays and on Tensors alike. It is drawn as data, so that a failure shrinks and prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (3,), (2, 3), (3, 2), (1, 3), (2, 1), (0,), (2, 0), (2, 2, 3))
LARGEST = 200

Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]


def loop(x: Any) -> Any:
    for k in range(3):
        x = np.tanh(x * (0.5 + k))
    return x


def shrink(x: Any) -> Any:
    while np.sum(x * x) > 4.0:
        x = 0.5 * x
    return x


def branch(x: Any) -> Any:
    if np.sum(x) > 0.0:
        return x * x
    return np.sin(x) + 2.0


def closure(x: Any) -> Any:
    scale = np.mean(x) if x.size else 1.0

    def scaled(y: Any) -> Any:
        return y * scale

    return scaled(np.cos(x)) + scaled(1.5)


def write_first(x: Any) -> Any:
    y = x.copy()
    if y.ndim and len(y):
        y[0] = np.sin(y[0]) * 2.0
    return y


def write_view(x: Any) -> Any:
    y = x * 1.0
    if y.ndim:
        part = y[..., :1]
        part *= 3.0
        part += np.tanh(part)
    return y


def write_rows(x: Any) -> Any:
    y = np.zeros_like(x)
    for k in range(len(x) if x.ndim else 0):
        y[k] = x[k] * (k + 1.0) + (y[k - 1] if k else 0.0)
    return y


def overwrite(x: Any) -> Any:
    y = x + 0.0
    z = y * y
    y *= 2.0  # `y * y` saved y as it was
    y -= z
    return y + z


UNARY: dict[str, Unary] = {
    "sin": np.sin,
    "tanh": np.tanh,
    "exp": lambda x: np.exp(x * 0.3),
    "square": lambda x: x * x,
    "cube": lambda x: x**3,
    "root": lambda x: np.sqrt(x * x + 1.0),
    "log": lambda x: np.log(x * x + 0.5),
    "reciprocal": lambda x: 1.0 / (x * x + 1.0),
    "logistic": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "affine": lambda x: 2.5 * x - 1.0,
    "negative": lambda x: -x,
    "single": lambda x: x.astype(np.float32) * np.float32(0.5),
    "double": lambda x: x.astype(np.float64) * 0.5,
    "sum": np.sum,
    "mean": lambda x: np.mean(x) if x.size else x,
    "rows": lambda x: np.sum(x, axis=0) if x.ndim else x,
    "columns": lambda x: np.sum(x, axis=-1, keepdims=True) if x.ndim else x,
    "variance": lambda x: np.var(x) if x.size else x,
    "product": np.prod,
    "softmax": lambda x: np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True) if x.ndim and x.size else x,
    "flat": lambda x: np.reshape(x, -1),
    "turned": lambda x: x.T,
    "first": lambda x: x[0] if x.ndim and len(x) else x,
    "tail": lambda x: x[1:] if x.ndim else x,
    "column": lambda x: x[..., 0] if x.ndim and x.size else x,
    "axis": lambda x: x[None],
    "again": lambda x: x[np.array([0, 0, -1])] if x.ndim and len(x) else x,
    "positive": lambda x: x[x > 0.0] if x.ndim else x,
    "clip": lambda x: np.clip(x, -0.5, 0.8),
    "rectified": lambda x: np.maximum(x, 0.0),
    "running": lambda x: np.cumsum(x, axis=0) if x.ndim else x,
    "wide": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "joined": lambda x: np.concatenate([x, 2.0 * x]) if x.ndim else np.stack([x, 2.0 * x]),
    "halves": lambda x: np.subtract(*np.split(x, 2)) if x.ndim and len(x) % 2 == 0 else x,
    "loop": loop,
    "shrink": shrink,
    "branch": branch,
    "closure": closure,
    "write first": write_first,
    "write view": write_view,
    "write rows": write_rows,
    "overwrite": overwrite,
}

BINARY: dict[str, Binary] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / (y * y + 0.7),
    "power": lambda x, y: (x * x + 0.3) ** y,
    "maximum": np.maximum,
    "where": lambda x, y: np.where(x > 0.0, x, np.sin(y)),
    "angle": lambda x, y: np.arctan2(x, y * y + 1.0),
}


def fits(x: Any, y: Any) -> bool:
    """Whether the shapes broadcast to something small."""
    try:
        return int(np.prod(np.broadcast_shapes(tuple(x.shape), tuple(y.shape)))) <= LARGEST
    except ValueError:
        return False


def product(x: Any, y: Any) -> Any:
    """A matrix product where there is one, else x."""
    if x.ndim != 2 or y.ndim not in (1, 2) or x.shape[-1] != y.shape[0]:
        return x
    return x @ y


@dataclass(frozen=True)
class Program:
    """Shapes and dtypes of the inputs, steps (name, two operands counted from the newest value), a seed for data."""

    inputs: tuple[tuple[tuple[int, ...], str], ...]
    steps: tuple[tuple[str, int, int], ...]
    seed: int

    def data(self, variant: int = 0) -> list[Any]:
        """Arguments; another `variant` has other numbers, so perhaps another branch."""
        rng = np.random.default_rng([self.seed, variant])
        return [np.asarray(rng.normal(size=shape), dtype) for shape, dtype in self.inputs]

    @property
    def eager(self) -> bool:
        """Whether eager tensors can run it: they refuse to forget a value that backward needs."""
        return not any(name in ("overwrite", "write first") for name, _, _ in self.steps)

    def __call__(self, *args: Any) -> Any:
        values: list[Any] = list(args)
        for name, i, j in self.steps:
            x, y = values[-1 - i % len(values)], values[-1 - j % len(values)]
            if name in UNARY:
                made = UNARY[name](x)
            elif name == "matmul":
                made = product(x, y)
            else:
                made = BINARY[name](x, y) if fits(x, y) else x
            values.append(made if made.size <= LARGEST else x)
        total = values[0].sum() * 0.5
        for k, value in enumerate(values[-3:]):
            total = total + np.sum(value) * (1.0 + 0.3 * k)
        return total


@st.composite
def programs(draw: st.DrawFn, steps: int = 10, dtypes: tuple[str, ...] = ("float64",)) -> Program:
    """Programs of one to three inputs; of double precision only unless `dtypes` say otherwise."""
    inputs = draw(st.lists(st.tuples(st.sampled_from(SHAPES), st.sampled_from(dtypes)), min_size=1, max_size=3))
    known = [name for name in UNARY if name != "single" or "float32" in dtypes]
    names = st.sampled_from([*known, *BINARY, *BINARY, "matmul"])
    operand = st.integers(0, 5)
    body = draw(st.lists(st.tuples(names, operand, operand), min_size=1, max_size=steps))
    return Program(tuple(inputs), tuple(body), draw(st.integers(0, 2**16)))
