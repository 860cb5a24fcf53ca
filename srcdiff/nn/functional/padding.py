"""Padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srcdiff.errors import ArgumentError
from srcdiff.functions.editing import pad as numpy_pad
from srcdiff.ops.indexing import take_window

_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """x with elements added before and after each axis, or taken off where negative.

    `pad` has two numbers an axis, the last axis first. Modes: "constant" (filled with `value`), "reflect", "replicate",
    "circular".
    """
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise ArgumentError(
            "Padding length should be divisible by 2 and at most twice the number of dimensions of the input, "
            f"got {pad}"
        )
    if mode != "constant" and mode not in _MODES:
        raise ArgumentError(f"Unrecognised padding mode {mode}")
    widths = [(0, 0)] * (input.ndim - len(pad) // 2)
    widths += [(pad[k], pad[k + 1]) for k in range(len(pad) - 2, -1, -2)]
    if any(a < 0 or b < 0 for a, b in widths):
        kept = tuple((max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(input.shape, widths, strict=True))
        input = take_window(input, kept)
        widths = [(max(a, 0), max(b, 0)) for a, b in widths]
    if mode == "constant":
        fill = {} if not value else {"constant_values": value}
        return numpy_pad(input, tuple(widths), **fill)
    if value is not None:
        raise ArgumentError(f'Padding mode "{mode}" doesn\'t take in value argument')
    return numpy_pad(input, tuple(widths), mode=_MODES[mode])
