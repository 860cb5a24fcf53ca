"""Functions as users write them, in a module of their own: pytest rewrites the assertions of test modules."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import srcdiff as sd

W = np.array([0.3, -1.2, 0.7])

# ------------------------------------------------------------------- arrays that take traced values, x of length 3


def filled_in_a_loop(x: Any) -> Any:
    out = np.zeros(3)
    for i in range(3):
        out[i] = x[i] * W[i] ** i
    return np.sum(out**2)


def rotation(x: Any) -> Any:
    c, s = np.cos(x[0]), np.sin(x[0])
    return np.sum((np.array([[c, -s], [s, c]]) @ x[1:]) * W[:2])


def array_with_numbers(x: Any) -> Any:
    return np.sum(np.array([x[0], 1, 2.5]) ** 2 * x) + np.array([x[1], x[2]], dtype=np.float64, ndmin=2)[0, 1]


def stacked_rows(x: Any) -> Any:
    rows = np.array([x, x * 2.0, [x[0], 1.0, x[2]]])
    return np.sum(rows[2] * rows[1]) + np.sum(np.asarray(x) * np.array(x) * np.copy(x))


def filled_with(x: Any) -> Any:
    a, b, c = np.full(3, x[0]), np.full((2, 3), x), np.full_like(W, x[1])
    a[1] *= x[2]
    return np.sum(a * W) + np.sum(b**2) + np.sum(c * a)


def copies(x: Any) -> Any:
    a, b, c, d, e = W.copy(), np.copy(W), W.astype(np.float64), np.zeros_like(W), np.array(W)
    a[0], b[1:], d[:], e[2] = x[0], x[:2], x, x[2]
    c += x
    return np.sum(a * b) + np.sum(c * d) + np.sum(e * x)


def arrays_of_lists(x: Any) -> Any:
    y = np.atleast_2d([x[0], x[1]]) ** 2
    z = np.fromiter((v * v for v in x), float)
    return np.sum(y) + np.sum(np.asarray([x, x * 2])[1]) + np.sum(np.ascontiguousarray(x[::-1]) * W) + np.sum(z)


def functions_of_lists(x: Any) -> Any:
    squares = [v * v for v in x]
    parts = []
    for v in x:
        parts.append(v * np.sum(squares))  # noqa: PERF401
    y = np.mean(squares) + np.max([x[0], x[1]]) + np.exp([x[0], x[1]])[0] + np.dot([x[0], x[1]], [x[1], 2.0])
    y = y + np.linalg.norm(parts) + np.sum(list(x), axis=0)
    return y + np.linalg.det([[x[0], x[1]], [x[2], 1.0]]) + np.sum(np.vstack([[x[0], x[1]], [x[2], x[0]]]) ** 2)


def complex_buffer(x: Any) -> Any:
    z = np.zeros(3, complex)
    z[:] = x * (1 + 2j)
    z[0] *= 1j
    return np.sum(np.abs(z) ** 2 * W)


def view_of_what_was_made(x: Any) -> Any:
    a = np.ones((2, 3)) * 2
    row = a[1].reshape(3, 1)
    row[:2, 0] = x[:2]
    a[0] += a[1]
    return np.sum(a**2) * x[2]


def random_buffers(x: Any) -> Any:
    noise, rng = np.zeros(3), np.random.default_rng(0)
    before = x * noise
    rng.random(out=noise)
    after, rows = x * noise, np.array([x, x**2, W])
    noise[0] = x[1]
    rng.shuffle(rows)
    return np.sum(before) + np.sum(after * noise) + np.sum(rows * W[:, None])


def scalar_type(x: Any) -> Any:
    return np.float64(x[0]) * x[1] + np.float32(2.0) * x[2]


def asks_for_types(x: Any) -> Any:
    y = np.zeros(3)
    y[0] = x[0]
    if not isinstance(x, np.ndarray) or type(y) is not np.ndarray or not isinstance(x[0], float):
        raise TypeError
    return np.sum(y * x)


# ------------------------------------------------------------------------------------------------------ ways of calling


class State:
    """Fills an array of its own."""

    def __init__(self, n: int) -> None:
        self.h = np.zeros(n)

    def put(self, i: int, v: Any) -> None:
        self.h[i] = v

    def __call__(self) -> Any:
        return np.sum(self.h**2)

    @staticmethod
    def doubled(v: Any) -> Any:
        out = np.empty(1)
        out[0] = 2 * v
        return out[0]

    @classmethod
    def of(cls, x: Any) -> State:
        made = cls(len(x))
        made.h[:] = x
        return made


class Child(State):
    """Calls its parent by `super`, and has a private name."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.__scale = 2.0

    def put(self, i: int, v: Any) -> None:
        super().put(i, v * self.__scale)


def objects(x: Any) -> Any:
    state, child = State(3), Child(3)
    for i in range(3):
        state.put(i, x[i] * W[i])
        child.put(i, x[i])
    return state() + child() + State.doubled(x[1]) + State.of(x)()


def square(v: Any) -> Any:
    out = np.zeros(2)
    out[0] = v
    return np.sum(out * out)


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


@counted
@counted
def decorated(v: Any, *, scale: float = 3.0) -> Any:
    out = np.zeros(1)
    out[0] = v * scale
    return out[0]


@contextlib.contextmanager
def buffer_of(x: Any) -> Iterator[Any]:
    out = np.zeros(3)
    out[:] = x
    yield out


def calls(x: Any) -> Any:
    def generator() -> Iterator[Any]:
        out = np.zeros(3)
        for i in range(3):
            out[i] = x[i]
            yield out[i] * i

    class Local:
        def __getitem__(self, i: int) -> Any:
            out = np.zeros(1)
            out[0] = x[i]
            return out[0]

    with buffer_of(x) as b:
        total = np.sum(b**2) + sum(generator()) + sum(map(square, x)) + functools.reduce(weighted, x)
    return total + functools.partial(decorated, scale=2.0)(x[0]) + decorated(x[1]) + Local()[2] * factorial(3, x[0])


def weighted(a: Any, b: Any) -> Any:
    out = np.zeros(2)
    out[0], out[1] = a, b * 2
    return np.sum(out)


def factorial(n: int, x: Any) -> Any:
    out = np.ones(1)
    if n:
        out[0] = factorial(n - 1, x) * x
    return out[0]


power, product = (lambda x: np.sum(np.array(x[:2]) ** 2)), (lambda x: np.prod(np.array([x[0], x[1]])))


def lambdas(x: Any) -> Any:
    return power(x) + product(x) + (lambda v: np.array([v, v]))(x[2])[1]  # noqa: PLC3002


def inner_gradient(x: Any) -> Any:
    def inner(y: Any) -> Any:
        out = np.zeros(3)
        out[:2] = y[:2] * x[:2]
        return np.sum(out**2)

    return np.sum(sd.grad(inner)(x) * x)


GRADIENTS = [
    filled_in_a_loop, rotation, array_with_numbers, stacked_rows, filled_with, copies, arrays_of_lists,
    functions_of_lists, complex_buffer, view_of_what_was_made, random_buffers, scalar_type, asks_for_types, objects,
    calls, lambdas, inner_gradient,
]  # fmt: skip

# ---------------------------------------------------------------------------------------- what can be seen from inside


def here() -> list[tuple[str, int]]:
    """Names and lines of the frames in this file, from the caller outward."""
    frame, seen = sys._getframe(1), []
    while frame is not None and len(seen) < 8:
        if frame.f_code.co_filename == __file__:
            seen.append((frame.f_code.co_qualname, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return seen


def frames(a: int, *rest: int, key: str = "k", **more: Any) -> Any:
    """The doc."""
    b = sorted(locals())

    def inner(c: int = a) -> Any:
        return (
            here(),
            sorted(locals()),
            inspect.currentframe().f_back.f_lineno,  # type: ignore[union-attr]
        )

    seen = (lambda: inner())()  # noqa: PLC3002
    return b, inner(), [inner(i)[1] for i in range(2)], seen, __name__, inner.__qualname__


def nearest_frame() -> Any:
    return sys._getframe(1).f_code.co_name, sys._getframe(1).f_lineno


def neighbours() -> Any:
    return [
        nearest_frame(),
        "a"
        .upper()
        .lower(),
        nearest_frame(
        ),
    ]  # fmt: skip


def warned() -> list[int]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _warn()
    return [entry.lineno for entry in caught]


def _warn() -> None:
    warnings.warn("here", stacklevel=2)


def private(x: int) -> Any:
    class _Box:
        __name = x

        def get(self) -> Any:
            return self.__name, self._Box__name, type(self).__qualname__, __class__.__name__  # type: ignore[name-defined]

    return _Box().get()


def evaluated(x: int) -> Any:
    y = x + 1
    return eval("x + y"), here(), "rec" in globals(), "rec" in dir(), max(len(k) for k in locals())


def matched(x: Any) -> Any:
    match x:
        case [a, *b] if len(b) > 1:
            return a, b
        case {"k": v, **rest}:
            return v, sorted(rest)
        case State():
            return type(x).__name__
    return [k := len(str(x)), k]


def depth(n: int) -> int:
    return 1 + depth(n - 1) if n else 0


SEEN = [
    (frames, (1, 2)), (neighbours, ()), (warned, ()), (private, (3,)), (evaluated, (3,)), (matched, ([1, 2, 3],)),
    (matched, ({"k": 1, "l": 2},)), (matched, (4,)), (depth, (30,)),
]  # fmt: skip


def fails_in_call(x: Any) -> Any:
    return _divide(x,
                   0) + 1  # fmt: skip


def _divide(a: Any, b: Any) -> Any:
    return (a
            .__class__(1)
            .__truediv__(b))  # fmt: skip


def fails_in_arguments(x: Any) -> Any:
    return _divide(x)


def fails_in_a_method(x: Any) -> Any:
    return [State(2).put(i, i) for i in range(x)]


def fails_to_call(x: Any) -> Any:
    f = None
    return f(_divide(x, 1))


FAILING = [(fails_in_call, 3), (fails_in_arguments, 3), (fails_in_a_method, 3), (fails_to_call, 3)]

# ------------------------------------------------------------------------------------------------------ generated code


def logistic(w: Any) -> Any:
    z = W * w + np.array([1.0, 2.0, 3.0])
    p = 1 / (1 + np.exp(-z))
    return -np.mean(np.log(p)) + norm(z)


def norm(z: Any) -> Any:
    hidden = (z
              .reshape(3, 1)
              .sum(axis=1))  # fmt: skip
    return np.sqrt(np.sum(hidden**2))


def chain(x: Any) -> Any:
    layers = [np.tanh, np.sin, lambda v: v * 2.0]
    for layer in layers:
        x = layer(x)
    first, second = x.sum(), x.max()
    return first * norm(x) + second


SOURCES = [logistic, chain]
