"""Jacobians for `gradcheck`: by central differences, by backward passes and by forward derivatives.

All are plain arrays of shape (elements of the input, elements of the output). For complex values the convention is that
of backward passes: with the real inner product <a, b> = Re(sum(conj(a) * b)), entry (j, i) is what a backward pass from
output element i with cotangent 1 gives element j; a complex output has a second Jacobian, from cotangent 1j.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff.autograd.backward import grad
from srcdiff.autograd.pushing import Pushforward
from srcdiff.tape.record import plain

Array = np.ndarray[Any, np.dtype[Any]]


def directions(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """The real directions in which an element of this dtype can vary."""
    return (1.0, 1j) if dtype.kind == "c" else (1.0,)


def numerical(call: Callable[[], Sequence[Array]], array: Array, eps: float) -> list[list[Array]]:
    """For each output of `call`, and each of the output's directions, the Jacobian with respect to `array`, which
    `call` reads and which is changed and restored element by element. Works for any memory layout.
    """
    columns: list[list[list[Array]]] = []
    for place in np.ndindex(array.shape):
        kept = array[place]
        per_direction = []
        for direction in directions(array.dtype):
            try:
                array[place] = kept + direction * eps
                above = [np.array(out) for out in call()]
                array[place] = kept - direction * eps
                below = [np.array(out) for out in call()]
            finally:
                array[place] = kept
            per_direction.append([(a - b).ravel() / (2 * eps) for a, b in zip(above, below, strict=True)])
        columns.append(per_direction)
    if not columns:
        return [[np.zeros((0, np.size(out)))] * len(directions(np.asarray(out).dtype)) for out in call()]
    made = []
    for k in range(len(columns[0][0])):
        slopes = [np.stack([column[d][k] for column in columns]) for d in range(len(columns[0]))]
        whole = np.iscomplexobj(slopes[0])
        cotangents = [np.real, np.imag] if whole else [np.asarray]
        made.append([_joined([part(slope) for slope in slopes]) for part in cotangents])
    return made


def _joined(slopes: list[Array]) -> Array:
    """Slopes in the real and, for a complex input, the imaginary direction as one number."""
    return slopes[0] if len(slopes) == 1 else slopes[0] + 1j * slopes[1]


def analytical(output: Any, inputs: Sequence[Any]) -> list[list[Array | None]]:
    """By backward passes: for each of the output's directions and each input a Jacobian, None where nothing arrived."""
    shape, dtype, size = output._value.shape, output._value.dtype, output._value.size
    made = []
    for direction in directions(dtype):
        columns = []
        for i in range(size):
            ct = np.zeros(size, dtype)
            ct[i] = direction
            columns.append(pulled(output, inputs, ct.reshape(shape)))
        made.append([_stacked([column[k] for column in columns], x) for k, x in enumerate(inputs)])
    return made


def pulled(output: Any, inputs: Sequence[Any], ct: Array) -> list[Array | None]:
    """One backward pass."""
    found = grad([output], inputs, [plain(ct)], retain_graph=True, allow_unused=True)
    return [None if g is None else np.array(g._value) for g in found]


def _stacked(columns: list[Array | None], x: Any) -> Array | None:
    if all(column is None for column in columns):
        return None
    zero = np.zeros(x._value.shape, x._value.dtype)
    return np.stack([(zero if column is None else column).ravel() for column in columns], axis=1)


def forward(outputs: Sequence[Any], inputs: Sequence[Any]) -> list[list[list[Array]]]:
    """By forward derivatives: for each input, each output, each of the output's directions, a Jacobian."""
    push = Pushforward(outputs, [x._edge for x in inputs])
    made = []
    for k, x in enumerate(inputs):
        size = x._value.size
        slopes: list[list[Array]] = [[] for _ in outputs]
        for direction in directions(x._value.dtype):
            columns: list[list[Array]] = [[] for _ in outputs]
            for j in range(size):
                tangent = np.zeros(size, x._value.dtype)
                tangent[j] = direction
                tangents: list[Any] = [None] * len(inputs)
                tangents[k] = tangent.reshape(x._value.shape)
                for column, out, pushed in zip(columns, outputs, push.tensors(tangents, False), strict=True):
                    column.append(
                        np.zeros(out._value.size, out._value.dtype) if pushed is None else pushed._value.ravel()
                    )
            for slope, column, out in zip(slopes, columns, outputs, strict=True):
                slope.append(np.stack(column) if column else np.zeros((0, out._value.size), out._value.dtype))
        made.append([_by_cotangent(slope, out._value.dtype) for slope, out in zip(slopes, outputs, strict=True)])
    return made


def _by_cotangent(slopes: list[Array], dtype: np.dtype[Any]) -> list[Array]:
    parts = [np.real, np.imag] if dtype.kind == "c" else [np.asarray]
    return [_joined([np.asarray(part(slope)) for slope in slopes]) for part in parts]
