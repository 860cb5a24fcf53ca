"""Discrete Fourier transforms: linear; the adjoint of a complex one is the opposite one, scaled the other way.

`norm` is "backward", "ortho" or "forward", the direction that carries the factor 1/n. The length is that of the
operand: pad or cut before. Real transforms act on one axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.primitive import Primitive
from srcdiff.ops.families import linear
from srcdiff.ops.shaping import pad, take_at_window

#: the norm under which the opposite transform is the adjoint
OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _complex(x: Aval) -> Any:
    return np.result_type(x.dtype, np.complex64) if x.dtype.char in "eFf" else np.result_type(x.dtype, np.complex128)


def _real(x: Aval) -> Any:
    return np.dtype(_complex(x).char.lower())


def _same_shape(x: Aval, *, axes: tuple[int, ...], norm: str) -> Aval:
    return aval(x.shape, _complex(x))


def _with_length(x: Aval, axis: int, n: int, dtype: Any) -> Aval:
    return aval((*x.shape[:axis], n, *x.shape[axis + 1 :]), dtype)


def _padded(x: Any, axis: int, before: int, after: int) -> Any:
    return pad(x, pad_width=tuple((before, after) if k == axis else (0, 0) for k in range(x.ndim)))


def _rfft_adjoint(ct: Any, out: Any, x: Any, *, axis: int, norm: str) -> Any:
    # rfft is the first half of fft
    whole = _padded(ct, axis, 0, x.shape[axis] - ct.shape[axis])
    return ifftn(whole, axes=(axis,), norm=OPPOSITE[norm])


def _irfft_adjoint(ct: Any, out: Any, x: Any, *, n: int, axis: int, norm: str) -> Any:
    # every frequency but 0 and n/2 stands for its conjugate as well, and so counts twice
    made = rfft(ct, axis=axis, norm=OPPOSITE[norm])
    last = (n + 1) // 2
    if last > 1:
        inner = take_at_window(made, axis, 1, last)
        made = made + _padded(inner, axis, 1, made.shape[axis] - last)
    return made


fftn: Primitive = linear(
    "fftn", "x", "np.fft.fftn(x, axes=axes, norm=norm)",
    lambda ct, out, x, *, axes, norm: ifftn(ct, axes=axes, norm=OPPOSITE[norm]),
    infer=_same_shape, params="axes norm", label="FftC2C",
)  # fmt: skip
ifftn: Primitive = linear(
    "ifftn", "x", "np.fft.ifftn(x, axes=axes, norm=norm)",
    lambda ct, out, x, *, axes, norm: fftn(ct, axes=axes, norm=OPPOSITE[norm]),
    infer=_same_shape, params="axes norm", label="FftC2C",
)  # fmt: skip
rfft: Primitive = linear(
    "rfft", "x", "np.fft.rfft(x, axis=axis, norm=norm)", _rfft_adjoint, params="axis norm", label="FftR2C",
    infer=lambda x, *, axis, norm: _with_length(x, axis, x.shape[axis] // 2 + 1, _complex(x)),
)  # fmt: skip
#: x has n // 2 + 1 elements along the axis
irfft: Primitive = linear(
    "irfft", "x", "np.fft.irfft(x, n, axis=axis, norm=norm)", _irfft_adjoint, params="n axis norm", label="FftC2R",
    infer=lambda x, *, n, axis, norm: _with_length(x, axis, n, _real(x)),
)  # fmt: skip

#: DCT or DST of type 1 to 4 without a factor, as `scipy.fft` has them, or the transposed matrix of it
trigonometric: Primitive = linear(
    "trigonometric", "x", "rt.trigonometric(x, kind, number, axis, transposed)",
    lambda ct, out, x, *, kind, number, axis, transposed: trigonometric(
        ct, kind=kind, number=number, axis=axis, transposed=not transposed
    ),
    infer=lambda x, **params: x, params="kind number axis transposed", label="FftR2R",
)  # fmt: skip
