"""Functions of three positive numbers that use what NumPy and Python offer besides plain functions: text that is
evaluated, loops over elements, subscripted objects, Python's own numbers, parts and shapes that are written to.
"""

from __future__ import annotations

import cmath
import enum
import math
import warnings
from typing import Any

import numpy as np

SQUARE = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [0.0, 1.0, 1.0]])
PLACES = np.array([0, 1, 1])


class Two(enum.IntEnum):
    """A number of a subclass of int."""

    TWO = 2


# ----------------------------------------------------------------------------------------------------------------- text


def evaluated(x: Any) -> Any:
    scale = 3.0
    a = eval("np.sum(np.array([x[0], x[1] * scale]) ** 2)", {"np": np}, {"x": x, "scale": scale})
    return a + eval("  np.sum(np.array([[x[0]], [1.0]]))") * scale


def executed(x: Any) -> Any:
    names: dict[str, Any] = {}
    exec("def f(y):\n    out = np.zeros(3)\n    out[:] = y\n    return np.sum(out**2)", {"np": np}, names)
    code = compile("a = np.zeros(2); a[0] = x[1]; y = f(np.array(x)) * np.sum(a)", "<text>", "exec")
    names["x"], names["np"] = x, np
    exec(code, names)
    return names["y"] + eval(compile("np.array([x])[0, 1]", "<text>", "eval"))


def text_within_text(x: Any) -> Any:
    return eval("eval('np.array([x[0], x[2]])[1]') * [np.full(2, v)[0] for v in x][0]", {"np": np, "x": x})


# ---------------------------------------------------------------------------------------------------- loops, subscripts


def iterated(x: Any) -> Any:
    total = 0.0
    with np.nditer(x, flags=["multi_index"]) as it:
        for v in it:
            total = total + v * v * (it.multi_index[0] + 1)
    for i, v in np.ndenumerate(np.outer(x, x)):
        total = total + v * i[0] * (i[1] + 1)
    for p, q in np.nditer([x, x[:, None]]):
        total = total + p * q * q
    return total


def written_by_iterating(x: Any) -> Any:
    a, b = x * 1.0, np.zeros(3)
    for v in np.nditer(a, op_flags=["readwrite"]):
        v[...] = 2 * v * v
    it = np.nditer([x, b], flags=["c_index"], op_flags=[["readonly"], ["writeonly"]])
    while not it.finished:
        it[1][...] = it[0] * it.index
        it.iternext()
    return np.sum(a * b)


def made_by_subscripts(x: Any) -> Any:
    y = np.sum(np.r_[x, 1, x[0], 0 : x[1] : 4j, 0 : 3 : x[2]] ** 2) + np.sum(np.c_[x, x * x, [1, 2, 3]] ** 3)
    y = y + np.sum(np.r_["1,2,0", x, x] ** 2 * SQUARE[:, :2]) + np.sum(np.r_["0,2", x, 2 * x] ** 2)
    y = y + np.sum(np.mgrid[0 : x[0] : 3j, 0:2] ** 2) + np.sum(np.mgrid[x[0] : x[1] : 5j] ** 2)
    return y + np.sum(np.ogrid[0 : x[0] : 3j, 0:2][0] ** 2)


def vectorized(x: Any) -> Any:
    f = np.vectorize(lambda a, b=2.0: a * b if a > 0.4 else np.array([a])[0] ** 2)
    g = np.vectorize(lambda a, p=1: a**p, excluded=["p"], otypes=[float])
    return np.sum(f(x) * f(x, x[0])) + np.sum(g(x, p=2) + g(a=x, p=3))


def vectorized_with_a_signature(x: Any) -> Any:
    f = np.vectorize(lambda a, b: np.dot(a, b) * a, signature="(n),(n)->(n)")
    return np.sum(f(np.outer(x, x), x) ** 2) + np.sum(np.vectorize(lambda k: x[k] * 2 * k)(np.arange(3)))


@np.vectorize
def outside(a: Any) -> Any:
    return np.array([a, 2.0])[0] ** 2


def vectorized_outside(x: Any) -> Any:
    return np.sum(outside(x))


def called_by_numpy(x: Any) -> Any:
    y = np.apply_along_axis(lambda row: np.array([row[0], row[1] * 2.0]), 1, np.outer(x, x))
    z = np.piecewise(x, [x < 0.5], [lambda v: np.full(v.shape, v[0]) * v, lambda v: v**2])
    return np.sum(y**2) + np.sum(z) + np.sum(np.fromfunction(lambda i: np.array([x[0]])[0] * i, (3,)))


# -------------------------------------------------------------------------------------------------------------- numbers


def of_math(x: Any) -> Any:
    y = math.sin(x[0]) * math.exp(x[1]) + math.sqrt(x[2]) + math.pow(x[0], x[1]) + math.atan2(x[0], x[1])
    y = y + math.hypot(*x) + math.log(x[1], 2) + math.log(x[0]) + math.fsum(x) + math.prod(x) + math.gamma(x[0])
    y = y + math.lgamma(x[1]) + math.erf(x[2]) * math.erfc(x[1]) + math.dist(x, [1, 2, 3])
    y = y + math.remainder(x[2], x[0]) + math.fmod(x[2], x[0]) + math.copysign(x[0], -1) + math.modf(x[1])[0]
    return y * math.ceil(x[0]) if math.isfinite(x[0]) and math.floor(x[0]) == 0 else y


def of_cmath(x: Any) -> Any:
    z = cmath.exp(complex(x[0], x[1])) + cmath.sqrt(-x[0]) + cmath.log(x[1] + 1j) + cmath.rect(x[0], x[1])
    return abs(z) + cmath.phase(x[0] + 1j) * cmath.polar(x[1] * 1j)[0]


def pythons_numbers(x: Any) -> Any:
    y = float(x[0]) ** 2 * float(x[1]) + abs(complex(x[0], x[1])) + round(x[0]) * x[1] + round(x[2], 1) * x[0]
    return y + np.sum(x) / x.size + np.sum(np.multiply(x, x.size) + np.add(Two.TWO, x) * Two.TWO + x**Two.TWO)


def methods_of_plain_arrays(x: Any) -> Any:
    y = np.sum(SQUARE.dot(x) ** 2) + np.sum(PLACES.choose([x, x * 2, x]) ** 2)
    y = y + np.sum(SQUARE.clip(x - 1, x + 3) ** 2) + SQUARE[0].searchsorted(x)[2] * x[0]
    return y + np.sum(SQUARE.dot(SQUARE) * x)


def polynomials(x: Any) -> Any:
    p = np.polynomial.Polynomial(x)
    y = p(0.7) * p.deriv()(x[0]) + np.polynomial.chebyshev.chebval(x[1], x) + np.polynomial.Legendre(x).integ()(0.3)
    y = y + np.sum(np.polynomial.polynomial.polyval2d(x, x, np.outer(x, x))) + np.sum((p * p).coef[:3] * x)
    q = (2 * p - x[0]) ** 2 + p / 2 - np.polynomial.Polynomial([1.0, 2.0])
    y = y + q(0.3) + (-p)(x[1]) + (p // np.polynomial.Polynomial(x[:2])).coef[0] + isinstance(p * q, type(p))
    return y + np.sum(np.polynomial.hermite.hermfit(np.arange(3.0), x, 1) ** 2) + np.sum(np.emath.sqrt(x - 0.5).imag)


def values_in_keywords(x: Any) -> Any:
    y = np.sum(SQUARE, initial=x[0]) * np.max(SQUARE[0] * 0.1, initial=x[1]) + SQUARE.sum(initial=x[2])
    y = y + np.sum(np.pad(SQUARE, 1, constant_values=x[0]) ** 2) + np.sum(np.diff(SQUARE[0], prepend=x[1]) ** 2)
    y = y + np.interp(-1.0, SQUARE[0], SQUARE[1], left=x[0]) + np.average(SQUARE[0], weights=[x[0], 1.0, x[1]])
    return y + np.sum(np.polyint([1.0, 2.0], k=x[0])) + np.sum((x * 2 + [x[0], 1, 2.0]) * (x[1], [1.0], x[2])[2])


# ---------------------------------------------------------------------------------------------------- parts and shapes


def parts_written(x: Any) -> Any:
    z = np.zeros(3, complex)
    z.real[:] = x
    z.imag[1:] = x[:2] ** 2
    np.real(z)[0] += x[1]
    w = x * (1 + 2j)
    w.real = 2 * x
    w.imag += x
    w[1:].imag[0] = x[0] * 3
    return np.sum(np.abs(z) ** 2) + np.sum(np.abs(w) ** 2) + z.real[0] * w.imag[1]


def shapes_set(x: Any) -> Any:
    a = np.zeros((2, 3))
    a[0], a[1] = x, x * x
    a.shape = (3, 2)
    b, c = x * 1, x * 1
    b.resize((2, 3), refcheck=False)
    c.resize(2, refcheck=False)
    b[1, 1] += x[0]
    return np.sum(a[:, 0] ** 3) + np.sum(b**2) + np.sum(c**2)


def other_views(x: Any) -> Any:
    a = x * 1
    b = a.view()
    b[0] = 3 * x[1]
    y = np.sum(a**2) + np.sum(x.view(np.ndarray) ** 2) + np.sum(x.view(np.float64) ** 3)
    y = y + np.sum((x * (1 + 2j)).view(float) ** 2)
    return y + np.sum(np.abs(np.concatenate([x, x**2]).view(complex)) ** 2) + np.sum(x.view(np.int64) > 0)


def einsum_gives_views(x: Any) -> Any:
    a = np.zeros((3, 2))
    np.einsum("ij->ji", a)[0] = x
    return np.sum(a**2) + np.sum(np.einsum("iij->ji", np.ones((3, 3, 2)) * x[:, None, None]) ** 2)


def required(x: Any) -> Any:
    y = np.require(x, requirements=["C", "W"]) * np.require([x[0], 2.0, 3.0])
    z = np.arange(3.0)
    z *= x
    w = np.linspace(0, 1, 3)
    w[1] = x[0]
    return np.sum(y) + np.sum(z * w)


# ------------------------------------------------------------------------------------------------- what texts can tell


def outcome(text: Any) -> Any:
    try:
        return eval(text)
    except (SyntaxError, NameError, TypeError) as error:
        return type(error).__name__, str(error)


def seen_by_texts(x: Any) -> Any:
    local = 2.0
    names: dict[str, Any] = {}
    exec("a = 1\ndef g(): return a, g.__qualname__, g.__code__.co_filename", names)
    seen = [eval("local + 1"), sorted(eval("locals()")), names["g"](), "__builtins__" in names, local]
    seen += [eval(b"1 + 1"), eval(compile("3", "<text>", "eval")), eval("[1, 2][0]", {})]
    return seen + [outcome(text) for text in ("1 +", "a = 1", "nowhere", 3)]


SEEN = [
    3.0, ["local", "names", "x"], (1, "g", "<string>"), True, 2.0, 2, 3, 1,
    *map(outcome, ("1 +", "a = 1", "nowhere", 3)),
]  # fmt: skip


def warned_by_a_text(x: Any, found: list[str]) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval("1 is 1.0")
    found += [str(w.message) for w in caught]
    return x * 2.0


def fails_in_a_text(x: Any) -> Any:
    return eval(compile("\n\nnp.ma.array(x)", "model.txt", "eval"))


FUNCTIONS = [
    evaluated, executed, text_within_text, iterated, written_by_iterating, made_by_subscripts, vectorized,
    vectorized_with_a_signature, vectorized_outside, called_by_numpy, of_math, of_cmath, pythons_numbers,
    methods_of_plain_arrays, values_in_keywords, polynomials, parts_written, shapes_set, other_views,
    einsum_gives_views, required,
]  # fmt: skip
