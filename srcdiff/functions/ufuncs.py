"""NumPy's (and SciPy's) ufuncs on Tensors: which primitive or function each is, and what its methods do.

`UFUNCS` (in `dispatch`) has those that are a primitive, `UFUNC_FUNCTIONS` the others; `UFUNC_METHODS` maps a ufunc and
the name of one of its methods (`reduce`, `accumulate`, `outer`, `reduceat`) to a function with NumPy's signature minus
`out`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions.cumulative import cummax, cummin, cumprod, cumsum
from srcdiff.functions.dispatch import UFUNCS
from srcdiff.functions.folding import (
    accumulate,
    accumulate_by_folding,
    axis_zero,
    fold,
    logaddexp_reduce,
    outer,
    reduceat,
    without_dtype,
)
from srcdiff.functions.reductions import as_array, max_, min_, prod, sum, truth_of_all, truth_of_any
from srcdiff.functions.shaping import moveaxis
from srcdiff.ops import elementwise as e
from srcdiff.ops import linalg
from srcdiff.ops.structural import reshape

#: ufuncs whose primitive has another name
_RENAMED = {
    "absolute": "abs", "subtract": "sub", "multiply": "mul", "divide": "div", "negative": "neg", "power": "pow",
    "degrees": "rad2deg", "radians": "deg2rad",
}  # fmt: skip
_SAME_NAME = """
    add positive conjugate floor_divide remainder fmod fabs copysign heaviside floor ceil trunc rint spacing nextafter
    ldexp less less_equal greater greater_equal equal not_equal isnan isinf isfinite signbit logical_and logical_or
    logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert left_shift right_shift bitwise_count gcd lcm
    float_power square reciprocal sqrt cbrt hypot exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 sin cos tan
    arcsin arccos arctan arctan2 deg2rad rad2deg sinh cosh tanh arcsinh arccosh arctanh maximum minimum fmax fmin matmul
"""
UFUNCS.update((getattr(np, name), REGISTRY[name]) for name in _SAME_NAME.split())
UFUNCS.update((getattr(np, name), REGISTRY[renamed]) for name, renamed in _RENAMED.items())

#: ufuncs that are functions rather than one primitive
UFUNC_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
#: (ufunc, "reduce" | "accumulate" | "outer" | "reduceat") -> function
UFUNC_METHODS: dict[tuple[Any, str], Callable[..., Any]] = {}


def _is(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function for the NumPy ufunc of that name, if this NumPy has it."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if hasattr(np, name):
            UFUNC_FUNCTIONS[getattr(np, name)] = function
        return function

    return register


@_is("sign")
def sign(x: Any) -> Any:
    """np.sign: piecewise constant for real x, x / |x| (which has a derivative) for complex x."""
    if getattr(x, "dtype", np.dtype(float)).kind != "c":
        return e.sign(x)
    return e.where(e.equal(x, 0), 0.0, e.unit(x))  # at 0 without the signs of zeros


@_is("modf")
def modf(x: Any) -> tuple[Any, Any]:
    """np.modf: fractional and integral part."""
    fraction, whole = e.frac(x), e.trunc(x)
    return fraction, as_array(whole, getattr(fraction, "dtype", None))  # of integers floats too


@_is("frexp")
def frexp(x: Any) -> tuple[Any, Any]:
    """np.frexp: mantissa and exponent."""
    return e.mantissa(x), e.exponent(x)


@_is("divmod")
def divmod_(x: Any, y: Any) -> tuple[Any, Any]:
    """np.divmod: quotient and remainder."""
    return e.floor_divide(x, y), e.remainder(x, y)


def _row(x: Any) -> Any:
    return reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1]))


def _column(x: Any) -> Any:
    return reshape(x, shape=(*x.shape, 1))


@_is("vecdot")
def vecdot(x: Any, y: Any, axis: int = -1) -> Any:
    """np.vecdot over an axis, the last unless another is given."""
    x, y = as_array(x), as_array(y)
    _require_vectors("vecdot", x, y)
    if axis != -1:
        x, y = moveaxis(x, axis, -1), moveaxis(y, axis, -1)
    out = linalg.matmul(_row(e.conj(x)), _column(y))
    return reshape(out, shape=out.shape[:-2])


@_is("matvec")
def matvec(x: Any, y: Any) -> Any:
    """np.matvec: matrices times vectors."""
    x, y = as_array(x), as_array(y)
    _require_vectors("matvec", x, y)
    out = linalg.matmul(x, _column(y))
    return reshape(out, shape=out.shape[:-1])


@_is("vecmat")
def vecmat(x: Any, y: Any) -> Any:
    """np.vecmat: (conjugated) vectors times matrices."""
    x, y = as_array(x), as_array(y)
    _require_vectors("vecmat", x, y)
    out = linalg.matmul(_row(e.conj(x)), y)
    return reshape(out, shape=(*out.shape[:-2], out.shape[-1]))


def _require_vectors(name: str, *xs: Any) -> None:
    for x in xs:
        if not x.ndim:
            raise ValueError(f"{name}: operands need at least one axis, got a 0-d one")


# ------------------------------------------------------------------------------------------------- reduce and the like

_REDUCTIONS = {
    np.add: axis_zero(sum), np.multiply: axis_zero(prod), np.maximum: without_dtype(max_),
    np.minimum: without_dtype(min_), np.logaddexp: logaddexp_reduce, np.logical_and: without_dtype(truth_of_all),
    np.logical_or: without_dtype(truth_of_any),
}  # fmt: skip
_ACCUMULATIONS = {
    np.add: axis_zero(cumsum), np.multiply: axis_zero(cumprod), np.maximum: cummax, np.minimum: cummin,
}  # fmt: skip
for _ufunc in list(UFUNCS):
    if _ufunc.nin == 2 and _ufunc.signature is None:
        UFUNC_METHODS[_ufunc, "outer"] = functools.partial(outer, _ufunc)
        UFUNC_METHODS[_ufunc, "reduceat"] = functools.partial(reduceat, _ufunc)
        UFUNC_METHODS[_ufunc, "reduce"] = _REDUCTIONS.get(_ufunc) or functools.partial(fold, _ufunc)
        _accumulated = _ACCUMULATIONS.get(_ufunc) or functools.partial(accumulate_by_folding, _ufunc)
        UFUNC_METHODS[_ufunc, "accumulate"] = functools.partial(accumulate, _accumulated)

# --------------------------------------------------------------------------------------------------------------- SciPy

#: ufuncs of scipy.special whose primitive has another name
_SCIPY_RENAMED = {
    "expit": "sigmoid", "log_expit": "log_sigmoid", "gammaln": "lgamma", "psi": "digamma", "kl_div": "kl_divergence",
    "_zeta": "zeta", "_riemann_zeta": "riemann_zeta", "_lambertw": "lambertw",
}  # fmt: skip
_SCIPY_SAME_NAME = """
    logit erf erfc erfinv ndtr log_ndtr xlogy i0 cbrt exp2 expm1 log1p
    erfcx dawsn erfcinv ndtri exp1 expi expn exp10 cosm1 entr exprel spence ellipk ellipe
    jv yv yn iv kv kn ive kve j0 j1 y0 y1 i1 k0 k1 i0e i1e k0e k1e
    gamma loggamma gammasgn beta betaln poch binom gammainc gammaincc betainc xlog1py
    gammaincinv gammainccinv betaincc betaincinv betainccinv stdtr stdtrit ndtri_exp owens_t rel_entr
    boxcox1p inv_boxcox inv_boxcox1p powm1 pseudo_huber erfi wofz ellipkm1 ellipkinc ellipeinc hyperu
    sindg cosdg tandg huber boxcox hyp0f1 hyp1f1 hyp2f1
    eval_gegenbauer eval_jacobi eval_legendre eval_chebyt eval_chebyu eval_hermite eval_genlaguerre eval_laguerre
"""
_SCIPY = _SCIPY_RENAMED | {name: name for name in _SCIPY_SAME_NAME.split()}


def register_scipy(ufunc: Any) -> bool:
    """Enter the ufunc if it is one of SciPy's that is known here; whether it is.

    A ufunc does not tell its module, so it is compared with what is called so in `scipy.special`, which whoever has the
    ufunc has imported.
    """
    name = ufunc.__name__
    modules = (sys.modules.get("scipy.special"), sys.modules.get("scipy.special._ufuncs"))
    if not any(ufunc is getattr(module, name, None) for module in modules):
        return False
    if name in _SCIPY_FUNCTIONS:
        UFUNC_FUNCTIONS[ufunc] = _SCIPY_FUNCTIONS[name]
    elif name in _SCIPY:
        table: dict[Any, Any] = UFUNCS if ufunc.nin <= 2 else UFUNC_FUNCTIONS
        table[ufunc] = REGISTRY[_SCIPY[name]]
    return ufunc in UFUNCS or ufunc in UFUNC_FUNCTIONS


def _several(*names: str) -> Callable[[Any], tuple[Any, ...]]:
    return lambda x: tuple(REGISTRY[name](x) for name in names)


#: ufuncs of scipy.special that are functions rather than one primitive
_SCIPY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sici": _several("sine_integral", "cosine_integral"),
    "fresnel": _several("fresnel_sine", "fresnel_cosine"),
    "airy": _several("airy_ai", "airy_ai_slope", "airy_bi", "airy_bi_slope"),
    "chdtr": lambda v, x: REGISTRY["gammainc"](0.5 * v, 0.5 * x),
    "chdtrc": lambda v, x: REGISTRY["gammaincc"](0.5 * v, 0.5 * x),
    "gdtr": lambda a, b, x: REGISTRY["gammainc"](b, a * x),
    "gdtrc": lambda a, b, x: REGISTRY["gammaincc"](b, a * x),
    "pdtr": lambda k, m: REGISTRY["gammaincc"](e.floor(k) + 1.0, m),
    "pdtrc": lambda k, m: REGISTRY["gammainc"](e.floor(k) + 1.0, m),
    "fdtr": lambda n, m, x: REGISTRY["betainc"](0.5 * n, 0.5 * m, n * x / (m + n * x)),
    "fdtrc": lambda n, m, x: REGISTRY["betainc"](0.5 * m, 0.5 * n, m / (m + n * x)),
}
