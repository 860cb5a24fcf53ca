"""`srcdiff.scipy.fft`: SciPy's Fourier, cosine and sine transforms. Lengths are reached by cutting or padding first.

The module is a backend of `scipy.fft`: within `with scipy.fft.set_backend(srcdiff.scipy.fft):` SciPy's own functions
take values under differentiation.
"""

from __future__ import annotations

import operator
from math import sqrt
from typing import Any

import numpy as np
from scipy import fft as _original

from srcdiff.functions import fft as np_fft
from srcdiff.functions.shaping import arrayed, as_axis
from srcdiff.ops.fourier import OPPOSITE, trigonometric
from srcdiff.ops.structural import cast
from srcdiff.scipy.support import any_traced, mirrors, rest_of

__getattr__ = rest_of(_original)

#: SciPy's protocol for backends
__ua_domain__ = "numpy.scipy.fft"


def __ua_function__(method: Any, args: Any, kwargs: Any) -> Any:  # noqa: N807  SciPy's name
    """What SciPy calls for a function of its own while this module is its backend."""
    ours = globals().get(method.__name__)
    return ours(*args, **kwargs) if ours is not None and any_traced(args, kwargs) else NotImplemented


def _along(name: str) -> Any:
    theirs = getattr(np_fft, name)
    return mirrors(getattr(_original, name))(lambda x, n=None, axis=-1, norm=None: theirs(x, n, axis, norm))


def _over(name: str, default: Any) -> Any:
    theirs = getattr(np_fft, name)
    return mirrors(getattr(_original, name))(lambda x, s=None, axes=default, norm=None: theirs(x, s, axes, norm))


fft, ifft, rfft, irfft, hfft, ihfft = map(_along, "fft ifft rfft irfft hfft ihfft".split())
fft2, ifft2, rfft2, irfft2 = (_over(name, (-2, -1)) for name in "fft2 ifft2 rfft2 irfft2".split())
fftn, ifftn, rfftn, irfftn = (_over(name, None) for name in "fftn ifftn rfftn irfftn".split())


def _opposite(norm: Any) -> str:
    return str(OPPOSITE.get("backward" if norm is None else norm, norm))


def _hermitian(name: str, default: Any) -> Any:
    """The transform to a real result of n axes, which SciPy has and NumPy has not."""
    return mirrors(getattr(_original, name))(
        lambda x, s=None, axes=default, norm=None: np_fft.irfftn(np.conj(arrayed(x)), s, axes, _opposite(norm))
    )


def _inverse_hermitian(name: str, default: Any) -> Any:
    return mirrors(getattr(_original, name))(
        lambda x, s=None, axes=default, norm=None: np.conj(np_fft.rfftn(x, s, axes, _opposite(norm)))
    )


hfft2, hfftn = _hermitian("hfft2", (-2, -1)), _hermitian("hfftn", None)
ihfft2, ihfftn = _inverse_hermitian("ihfft2", (-2, -1)), _inverse_hermitian("ihfftn", None)
fftshift = mirrors(_original.fftshift)(lambda x, axes=None: np.fft.fftshift(arrayed(x), axes))
ifftshift = mirrors(_original.ifftshift)(lambda x, axes=None: np.fft.ifftshift(arrayed(x), axes))

# ------------------------------------------------------------------------------------------ cosine and sine transforms

#: (kind, type) -> the elements before and after the transform that an orthogonal one scales by sqrt(2) and sqrt(1/2)
_ENDS = {
    ("dct", 1): ((0, -1), (0, -1)), ("dct", 2): ((), (0,)), ("dct", 3): ((0,), ()),
    ("dst", 2): ((), (-1,)), ("dst", 3): ((-1,), ()),
}  # fmt: skip
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _scaled(x: Any, axis: int, ends: tuple[int, ...], factor: float) -> Any:
    """Some elements along an axis scaled."""
    if not ends:
        return x
    weights = np.ones(x.shape[axis], x.dtype)
    weights[list(ends)] = factor
    return x * weights.reshape([-1 if k == axis else 1 for k in range(x.ndim)])


def _transform(
    kind: str, inverse: bool, x: Any, type: Any, n: Any, axis: Any, norm: Any, orthogonalize: Any
) -> Any:  # fmt: skip
    x = arrayed(x)
    if x.dtype.kind not in "fc" or x.dtype.char == "e":
        x = cast(x, dtype=np.result_type(x.dtype, np.float32) if x.dtype.char == "e" else np.dtype(float))
    if type not in _INVERSE:
        raise ValueError(f"{kind} type must be in (1, 2, 3, 4), got {type!r}")
    norm = "backward" if norm is None else norm
    if norm not in OPPOSITE:
        raise ValueError(f"Invalid norm value {norm!r}; should be 'backward', 'ortho' or 'forward'")
    axis = as_axis(axis, x.ndim)
    x = np_fft._resized(x, x.shape[axis] if n is None else operator.index(n), axis)
    orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    size = x.shape[axis]
    logical = 2 * (size + {"dct": -1, "dst": 1}[kind]) if type == 1 else 2 * size
    if inverse:
        type, norm = _INVERSE[type], OPPOSITE[norm]
    before, after = _ENDS.get((kind, type), ((), ())) if orthogonal else ((), ())
    made = trigonometric(_scaled(x, axis, before, sqrt(2.0)), kind=kind, number=type, axis=axis, transposed=False)
    factor = {"backward": 1.0, "ortho": 1.0 / sqrt(logical or 1), "forward": 1.0 / (logical or 1)}[norm]
    return _scaled(made if factor == 1.0 else made * factor, axis, after, sqrt(0.5))


def _trigonometric(name: str) -> Any:
    kind, inverse = name[-3:], name[0] == "i"

    def transform(
        x: Any, type: Any = 2, n: Any = None, axis: Any = -1, norm: Any = None, orthogonalize: Any = None
    ) -> Any:
        return _transform(kind, inverse, x, type, n, axis, norm, orthogonalize)

    return mirrors(getattr(_original, name))(transform)


def _trigonometric_over(name: str) -> Any:
    kind, inverse = name[-4:-1], name[0] == "i"

    def transform(
        x: Any, type: Any = 2, s: Any = None, axes: Any = None, norm: Any = None, orthogonalize: Any = None
    ) -> Any:
        x = arrayed(x)
        if axes is None:
            axes = range(x.ndim) if s is None else range(x.ndim - np.size(s), x.ndim)
        axes = [axes] if np.ndim(axes) == 0 else list(axes)
        sizes = [x.shape[k] for k in axes] if s is None else [s] if np.ndim(s) == 0 else list(s)
        if len(sizes) != len(axes):
            raise ValueError("when given, axes and shape arguments have to be of the same length")
        for axis, n in zip(axes, sizes, strict=True):
            x = _transform(kind, inverse, x, type, n, axis, norm, orthogonalize)
        return x

    return mirrors(getattr(_original, name))(transform)


dct, idct, dst, idst = map(_trigonometric, "dct idct dst idst".split())
dctn, idctn, dstn, idstn = map(_trigonometric_over, "dctn idctn dstn idstn".split())
