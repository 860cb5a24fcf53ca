"""The recursion behind linear filters, along the last axis. Its adjoint is the same recursion backward in time."""

from __future__ import annotations

from typing import Any

from srcdiff.aval import Aval, aval
from srcdiff.core.primitive import Primitive
from srcdiff.errors import ShapeError
from srcdiff.ops.elementwise import conj
from srcdiff.ops.families import primitive, result_dtype
from srcdiff.ops.reductions import sum
from srcdiff.ops.shaping import flip, stack, take_at_window


def _filtered(x: Aval, a: Aval) -> Aval:
    if a.ndim != 1 or not x.ndim:
        raise ShapeError(f"all_pole: {a} is no vector of coefficients for {x}")
    return aval(x.shape, result_dtype("matmul", (x, a), {}, ndim=2))


def _backward(ct: Any, a: Any) -> Any:
    last = (ct.ndim - 1,)
    return flip(all_pole(flip(ct, axis=last), conj(a)), axis=last)


def _on_coefficients(ct: Any, out: Any, x: Any, a: Any) -> Any:
    """Each coefficient has met what came that many steps before."""
    back = _backward(ct, a)
    last, n = x.ndim - 1, x.shape[-1]
    met = [
        sum(take_at_window(back, last, k, n) * conj(take_at_window(out, last, 0, n - k)), axis=None, keepdims=False)
        for k in range(1, min(a.shape[0], n - 1) + 1)
    ]
    nothing = sum(back, axis=None, keepdims=False) * 0.0
    return -stack(*met, *(nothing for _ in range(a.shape[0] - len(met))), axis=0)


#: y[n] = x[n] - a[0] y[n-1] - a[1] y[n-2] - ..., with nothing before the start
all_pole: Primitive = primitive(
    "all_pole", "x a", "rt.all_pole(x, a)", [lambda ct, out, x, a: _backward(ct, a), _on_coefficients],
    infer=_filtered, label="Lfilter", saves=["a", "a out"],
)  # fmt: skip
