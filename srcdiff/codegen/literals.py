"""Python values as expressions: evaluating the text gives the value again, type and sign of zero included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

SUM, SIGN, ATOM = 9, 11, 13  # how tightly the text binds, on the scale of `expressions`


def literal(value: Any) -> tuple[str, int]:
    """An expression whose value is `value`, of the same type and sign of zero, and how tightly it binds."""
    kind = type(value)
    if kind is float:
        text = repr(value) if math.isfinite(value) else "np.nan" if value != value else "np.inf"
        return (text, ATOM) if math.copysign(1.0, value) > 0 or value != value else ("-" + text.lstrip("-"), SIGN)
    if kind is int:
        return str(value), ATOM if value >= 0 else SIGN
    if kind is complex:
        return _complex(value)
    if kind is tuple:
        texts = [literal(item)[0] for item in value]
        return f"({', '.join(texts)}{',' * (len(texts) == 1)})", ATOM
    if kind is str:
        text = repr(value)
        return text if '"' in text else f'"{text[1:-1]}"', ATOM
    if isinstance(value, np.inexact) and not np.isfinite(value):
        plain = complex(value) if value.dtype.kind == "c" else float(value)
        return f"np.{value.dtype.name}({literal(plain)[0]})", ATOM
    return "..." if value is Ellipsis else repr(value), ATOM


def _complex(value: complex) -> tuple[str, int]:
    """`2j`, `-2j`, `1.0 + 2j`; as a call where a sum would lose the sign of a zero, or be NaN."""
    real, imag = value.real, value.imag
    if math.isfinite(real) and math.isfinite(imag):
        signs = math.copysign(1.0, real), math.copysign(1.0, imag)
        if not real and signs == (1.0, 1.0):
            return repr(value), ATOM
        if not real and signs == (-1.0, -1.0):
            return "-" + repr(-value), SIGN
        if imag and (real or signs[0] > 0):
            return f"{real!r} {'+' if imag > 0 else '-'} {complex(0.0, abs(imag))!r}", SUM
    return f"complex({literal(real)[0]}, {literal(imag)[0]})", ATOM
