"""Running sums and products along an axis, and what their derivatives are made of.

None of them divides: the gradient of a product is right where factors are 0, to any order.
Parameter: `axis`, an int >= 0.
"""

from __future__ import annotations

from typing import Any

from srcdiff.aval import Aval, aval
from srcdiff.core.primitive import Primitive
from srcdiff.ops.elementwise import conj
from srcdiff.ops.families import infer_elementwise, linear, primitive, result_dtype


def _running(name: str) -> Any:
    """The operand's shape; the dtype as NumPy computes it."""

    def infer(x: Aval, *, axis: int) -> Aval:
        return aval(x.shape, result_dtype(name, (x,), {"axis": 0}, ndim=1))

    return infer


def _same_shape(x: Aval, **params: Any) -> Aval:
    return aval(x.shape, x.dtype)


# x moved along an axis by n places, `fill` coming in: with fill = 0 linear, else affine, with the same adjoint
shift: Primitive = linear(
    "shift", "x", "rt.shift(x, n, axis, fill)",
    lambda ct, out, x, *, n, axis, fill: shift(ct, n=-n, axis=axis, fill=0.0),
    infer=_same_shape, params="n axis fill", linear="",
)  # fmt: skip

cumsum = linear(
    "cumsum", "x", "np.cumsum(x, axis=axis)", lambda ct, out, x, *, axis: cumsum_back(ct, axis=axis),
    infer=_running("cumsum"), params="axis", fast="np.add.accumulate(x, axis=axis)",
)  # fmt: skip
cumsum_back: Primitive = linear(
    "cumsum_back", "x", "np.flip(np.cumsum(np.flip(x, axis), axis=axis), axis)",
    lambda ct, out, x, *, axis: cumsum(ct, axis=axis), infer=_running("cumsum_back"), params="axis",
    label="Cumsum",
)  # fmt: skip


def _scan_aval(a: Aval, b: Aval, *, axis: int, reverse: bool) -> Aval:
    return infer_elementwise("mul")(a, b)  # type: ignore[no-any-return]


def _scan_b(ct: Any, out: Any, a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    """What s[k] owes to b[j] is the product of the a between: the same recurrence, run the other way."""
    step = 1 if reverse else -1
    return scan(shift(conj(a), n=step, axis=axis, fill=0.0), ct, axis=axis, reverse=not reverse)


def _scan_a(ct: Any, out: Any, a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    before = shift(out, n=-1 if reverse else 1, axis=axis, fill=0.0)
    return _scan_b(ct, out, a, b, axis=axis, reverse=reverse) * conj(before)


# s[k] = b[k] + a[k] * s[k - 1]; a and b have equal shapes
scan = primitive(
    "scan", "a b", "rt.scan(a, b, axis, reverse)", vjp=[_scan_a, _scan_b], infer=_scan_aval,
    params="axis reverse", saves=["a out", "a"],
)  # fmt: skip


def _cumprod_x(ct: Any, out: Any, x: Any, *, axis: int) -> Any:
    """ct[k] reaches x[j], j <= k, through the factors before j and those from j + 1 to k: the latter sum is a scan."""
    before = shift(out, n=1, axis=axis, fill=1.0)
    after = scan(shift(conj(x), n=-1, axis=axis, fill=0.0), ct, axis=axis, reverse=True)
    return conj(before) * after


def _cumprod_back_x(ct: Any, out: Any, x: Any, *, axis: int) -> Any:
    before = shift(out, n=-1, axis=axis, fill=1.0)
    after = scan(shift(conj(x), n=1, axis=axis, fill=0.0), ct, axis=axis, reverse=False)
    return conj(before) * after


cumprod = primitive(
    "cumprod", "x", "np.cumprod(x, axis=axis)", vjp=[_cumprod_x], infer=_running("cumprod"), params="axis",
    fast="np.multiply.accumulate(x, axis=axis)",
)  # fmt: skip
cumprod_back = primitive(
    "cumprod_back", "x", "np.flip(np.cumprod(np.flip(x, axis), axis=axis), axis)", vjp=[_cumprod_back_x],
    infer=_running("cumprod_back"), params="axis", label="Cumprod",
)  # fmt: skip


def _others_x(ct: Any, out: Any, x: Any, *, axis: int) -> Any:
    """out = (product of those before) * (product of those after), differentiated as written."""
    earlier, later = shift(x, n=1, axis=axis, fill=1.0), shift(x, n=-1, axis=axis, fill=1.0)
    before, after = cumprod(earlier, axis=axis), cumprod_back(later, axis=axis)
    g_earlier = _cumprod_x(ct * conj(after), before, earlier, axis=axis)
    g_later = _cumprod_back_x(ct * conj(before), after, later, axis=axis)
    return shift(g_earlier, n=-1, axis=axis, fill=0.0) + shift(g_later, n=1, axis=axis, fill=0.0)


product_of_others = primitive(
    "product_of_others", "x", "rt.product_of_others(x, axis)", vjp=[_others_x], infer=_same_shape, params="axis"
)
