"""Text of an array as PyTorch prints tensors, and the options that steer it.

Guarantee: `format_tensor` is a pure function of its arguments and the print options; for every dtype that PyTorch has
too, its result is PyTorch's `repr` of the same values, with `dtype=float64` where PyTorch writes `dtype=torch.float64`.
The values are never copied whole: of a large array only the elements that are shown are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

#: PyTorch writes it before a dtype; counted when lines are broken, so that they break where PyTorch's do.
_MODULE: Final = "torch."

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """How tensors are printed; see `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: Final = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=inf),
}


class _Current:
    """Holder of the options in force, one for the process as in PyTorch; replaced whole, so threads see old or new."""

    options = PrintOptions()


def get_printoptions() -> PrintOptions:
    """The print options in force."""
    return _Current.options


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed, for the whole process.

    `precision`: digits after the point. `threshold`: of an array with more elements than this only `edgeitems` at each
    end of every axis are shown. `linewidth`: columns of a line. `profile`: "default", "short" or "full", values from
    which the other arguments depart. `sci_mode`: True or False for or against scientific notation; None, also when left
    out, lets the values decide. Other arguments left out stay as they were. ValueError for an unknown profile.
    """
    if profile is not None and profile not in _PROFILES:
        raise ValueError(f"set_printoptions: unknown profile {profile!r}, expected one of {', '.join(_PROFILES)}")
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    start = _Current.options if profile is None else _PROFILES[profile]
    _Current.options = replace(start, sci_mode=sci_mode, **changes)


def format_tensor(
    array: Array,
    *,
    suffixes: Sequence[str] = (),
    prefix: str = "tensor(",
    default_dtype: DTypeLike = np.float32,
) -> str:
    """`prefix`, the values, what PyTorch adds about size and dtype, then `suffixes`, and a closing parenthesis.

    `size=` is added for empty arrays that are not one-dimensional, and for all others when `edgeitems` is 0; `dtype=`
    where the text does not imply it: bool, int64, `default_dtype` and its complex counterpart go without, except that
    an empty array does not show it is bool or int64.

    >>> print(format_tensor(np.float32([[1, 2.5], [-3, 4]]), suffixes=["requires_grad=True"]))
    tensor([[ 1.0000,  2.5000],
            [-3.0000,  4.0000]], requires_grad=True)
    """
    options = _Current.options
    sized = options.edgeitems == 0 if array.size else array.ndim != 1
    details = [f"size={array.shape}"] if sized else []
    details += _dtype(array, np.dtype(default_dtype))
    text = prefix + ("[]" if array.size == 0 else _body(array, len(prefix), options))
    text = _append(text, [*details, *suffixes], len(prefix), options.linewidth) + ")"
    return text.replace(f"dtype={_MODULE}", "dtype=")


def _dtype(array: Array, default: np.dtype[Any]) -> list[str]:
    """The dtype, unless a reader takes it for granted."""
    implied = {default}
    if array.size:
        counterpart = np.complex128 if default == np.float64 else np.complex64
        implied |= {np.dtype(counterpart), np.dtype(np.int64), np.dtype(np.bool_)}
    return [] if array.dtype in implied else [f"dtype={_MODULE}{array.dtype.name}"]


def _append(text: str, suffixes: Sequence[str], indent: int, linewidth: int) -> str:
    """`text` with the suffixes after commas, each on a new line when it would cross `linewidth`."""
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text


class _Style(Protocol):
    """How the elements of one array are written."""

    width: int

    def padded(self, value: Any) -> str: ...


class _NumberStyle:
    """The one notation and width of all real numbers of an array, chosen from the finite nonzero ones among them.

    Integral values print as `1.`, others with `precision` digits; scientific notation is for values that span more
    than a factor of 1000, exceed 1e8 or, if not all are integral, fall below 1e-4. The width is that of the longest
    number in the *chosen* notation; zeros, nan and inf do not count.
    """

    def __init__(self, values: Array, options: PrintOptions) -> None:
        self.floating = values.dtype.kind == "f"
        self.precision = options.precision
        self.scientific = self.integral = False
        if self.floating:
            values = values[np.isfinite(values) & (values != 0)]
            self.integral = bool(np.all(values == np.ceil(values)))
            self.scientific = values.size > 0 and self._prefers_scientific(np.abs(values), options.sci_mode)
        self.width = max((len(self.text(value)) for value in values.ravel()), default=1)

    def _prefers_scientific(self, sizes: Array, forced: bool | None) -> bool:
        if forced is not None:
            return forced
        low, high = float(sizes.min()), float(sizes.max())
        return high / low > 1000.0 or high > 1.0e8 or (not self.integral and low < 1.0e-4)

    def text(self, value: Any) -> str:
        number = value.item()
        if not self.floating:
            return str(number)
        if self.scientific:
            return f"{number:.{self.precision}e}"
        if self.integral:
            return f"{number:.0f}." if isfinite(number) else f"{number:.0f}"
        return f"{number:.{self.precision}f}"

    def padded(self, value: Any) -> str:
        return self.text(value).rjust(self.width)


class _ComplexStyle:
    """Real and imaginary parts in the notation that suits each; the real parts are aligned."""

    def __init__(self, values: Array, options: PrintOptions) -> None:
        self.real = _NumberStyle(values.real, options)
        self.imag = _NumberStyle(values.imag, options)
        self.width = self.real.width + self.imag.width + 1

    def padded(self, value: Any) -> str:
        imag = self.imag.text(value.imag)
        return self.real.padded(value.real) + ("" if imag.startswith("-") else "+") + imag + "j"


def _body(array: Array, indent: int, options: PrintOptions) -> str:
    """The values between their brackets; lines after the first are indented by `indent` columns."""
    edge = options.edgeitems if array.size > options.threshold else None
    shown = array if edge is None else _corners(array, edge)
    style = (_ComplexStyle if array.dtype.kind == "c" else _NumberStyle)(shown, options)
    return _nested(array, style, indent, edge, options.linewidth)


def _corners(array: Array, edge: int) -> Array:
    """The elements that are shown when every axis is cut down to `edge` entries at each end."""
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            array = np.take(array, [*range(edge), *range(length - edge, length)], axis)
    return array


def _nested(array: Array, style: _Style, indent: int, edge: int | None, linewidth: int) -> str:
    if array.ndim == 0:
        return style.padded(array[()])
    if edge == 0:
        return "[...]"
    if array.ndim == 1:
        texts = _entries(array, edge, style.padded, " ...")
        per_line = max(1, (linewidth - indent) // (style.width + 2))
        parts = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    else:
        parts = _entries(array, edge, lambda rows: _nested(rows, style, indent + 1, edge, linewidth), "...")
    newlines = "\n" * max(1, array.ndim - 1)
    return "[" + ("," + newlines + " " * (indent + 1)).join(parts) + "]"


def _entries(array: Array, edge: int | None, text: Callable[[Any], str], dots: str) -> list[str]:
    """Text of each entry along the first axis, `dots` standing for those left out between the ends."""
    if edge is None or len(array) <= 2 * edge:
        return [text(entry) for entry in array]
    return [*map(text, array[:edge]), dots, *map(text, array[-edge:])]
