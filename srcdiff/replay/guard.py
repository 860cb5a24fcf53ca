"""Guards: generated code that looks at everything a recorded call depended on, and collects the arrays to replay it
with.

It gives up unless the arguments have the structure, types, shapes, dtypes and static values of the recorded call, and
all that was read from outside is what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from srcdiff.replay.alike import same
from srcdiff.replay.allowed import SCALAR_TYPES
from srcdiff.replay.containers import DICTS
from srcdiff.replay.findings import Read, RefusedError
from srcdiff.replay.fixed import fixed_conditions, is_fixed
from srcdiff.replay.objects import is_owner
from srcdiff.replay.outside import CONSTANT_TYPES, constant_conditions, outside_conditions
from srcdiff.replay.places import Place, of_argument
from srcdiff.replay.records import fields_of
from srcdiff.replay.writer import Writer, targets
from srcdiff.tape.node import LEAF, AccumulateGrad
from srcdiff.tape.value import TensorBase


def write_guard(
    w: Writer,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    label: Callable[[Any], str],
    data: Container[tuple[Any, ...]],
    reads: Sequence[Read],
    copies: dict[int, Any],
    numbers: Sequence[Place] = (),
) -> list[str]:
    """Write a guard for calls like this one: it returns False for others. The result are the expressions of the values
    to replay with. `label` gives the names of arguments. `data` has the paths of the Python numbers that are
    differentiated, `numbers` the places of others that are no constants, whose variables are in `w.numbers` then;
    `copies` what was in the arrays read from outside before the call, by their ids.

    Raises RefusedError for arguments that cannot be guarded.
    """
    arrays: list[str] = []
    w.numbers = dict.fromkeys(numbers, "")
    w.require(f"len(args) == {len(args)}", f"len(kwargs) == {len(kwargs)}" if kwargs else "not kwargs")
    names = [w.fresh(label(k)) for k in range(len(args))]
    if names:
        w.lines.append(f"    {targets(names)} = args")
    for k, value in enumerate(args):
        _argument(w, names[k], value, (k,), data, arrays)
    if kwargs:
        w.require(f"tuple(kwargs) == {w.bind(tuple(kwargs), 'keywords')}")
    for key, value in kwargs.items():
        name = w.fresh(key)
        w.lines.append(f"    {name} = kwargs[{key!r}]")
        _argument(w, name, value, (key,), data, arrays)
    conditions = outside_conditions(w, reads, copies)
    if conditions:
        w.lines.append("    # what it reads from outside")
        w.require(*conditions)
    return arrays


def _argument(
    w: Writer, name: str, value: Any, path: tuple[Any, ...], data: Container[tuple[Any, ...]], arrays: list[str]
) -> None:
    """Look at the argument, or part of one, that is in the variable `name`."""
    kind = type(value)
    if kind is np.ndarray:
        dtype = w.bind(value.dtype, str(value.dtype))
        w.require(
            f"type({name}) is {w.bind(np.ndarray, 'ndarray')}",
            *shape_conditions(name, value.shape),
            f"({name}.dtype is {dtype} or {name}.dtype == {dtype})",
        )
        arrays.append(name)
    elif isinstance(value, TensorBase):
        inner = w.fresh(f"{name}_value")
        w.require(f"type({name}) is {w.bind(kind, kind.__name__)}", *tensor_conditions(w, name, inner, value))
        w.tensors.append(name)
        arrays.append(inner)
    elif kind in SCALAR_TYPES:
        w.require(f"type({name}) is {w.bind(kind, kind.__name__ + '_type')}")
        arrays.append(name)
    elif of_argument(path) in w.numbers:
        w.require(f"type({name}) is {kind.__name__}")
        w.numbers[of_argument(path)] = name
    elif kind in (float, complex) and path in data:
        w.require(f"type({name}) is {kind.__name__}")
        convert = np.float64 if kind is float else np.complex128
        arrays.append(f"{w.bind(convert, convert.__name__ + '_type')}({name})")
    elif kind in (list, tuple):
        w.require(f"type({name}) is {kind.__name__}", f"len({name}) == {len(value)}")
        parts = [w.fresh(f"{name}_{k}") for k in range(len(value))]
        if parts:
            w.lines.append(f"    {targets(parts)} = {name}")
        for k, part in enumerate(value):
            _argument(w, parts[k], part, (*path, k), data, arrays)
    elif kind in DICTS:
        of_kind = f"type({name}) is {'dict' if kind is dict else w.bind(kind, kind.__name__)}"
        if all(type(key) is str for key in value):
            w.require(of_kind, f"[*{name}] == {w.bind(list(value), f'{name}_keys')}")
        else:  # 1 == True
            same_keys = f"{w.bind(same, 'same')}(tuple({name}), {w.bind(tuple(value), f'{name}_keys')})"
            w.require(of_kind, same_keys)
        for key, part in value.items():
            if type(key) not in (str, int):
                raise RefusedError(f"a dict argument has a key of type {type(key).__name__}")
            inner = w.fresh(f"{name}_{key}"[:40])
            w.lines.append(f"    {inner} = {name}[{key!r}]")
            _argument(w, inner, part, (*path, key), data, arrays)
    elif value is None or (kind in CONSTANT_TYPES and value == value):
        w.require(*constant_conditions(w, name, name, value))
    elif is_fixed(value) or is_owner(value):
        w.require(*fixed_conditions(w, name, value))
    elif (fields := fields_of(value)) is not None:
        w.require(f"type({name}) is {w.bind(kind, kind.__name__)}")
        if hasattr(value, "__dict__"):
            w.require(f"[*{name}.__dict__] == {w.bind(list(fields), f'{name}_fields')}")
        for field in fields:
            inner = w.fresh(f"{name}_{field}"[:40])
            w.lines.append(f"    {inner} = {name}.{field}")
            _argument(w, inner, getattr(value, field), (*path, field), data, arrays)
    else:
        raise RefusedError(f"an argument is a {kind.__module__}.{kind.__qualname__}")


def shape_conditions(name: str, shape: tuple[int, ...], first: str = "") -> list[str]:
    """That an array, or NumPy's scalar, in the variable `name` has that shape; `first` is how it is read first.
    Counting takes two thirds of the time in which a tuple is made and compared.
    """
    first = first or name
    if len(shape) > 2 or shape[:1] == (0,):
        return [f"{first}.shape == {shape}"]
    sizes = [f"len({name}) == {shape[0]}"] if shape else []
    if len(shape) == 2:
        sizes.append(f"{name}.size == {shape[0] * shape[1]}")
    return [f"{first}.ndim == {len(shape)}", *sizes]


def tensor_conditions(w: Writer, name: str, inner: str, tensor: Any) -> list[str]:
    """That a Tensor has a value like that of `tensor`, which comes into the variable `inner`, and is a leaf if that is
    one, without hooks, or else outside any graph. Raises RefusedError for other Tensors.
    """
    value = tensor._value
    dtype = w.bind(value.dtype, str(value.dtype))
    conditions = [
        *shape_conditions(inner, value.shape, f"({inner} := {name}._value)"),
        f"({inner}.dtype is {dtype} or {inner}.dtype == {dtype})",
    ]
    if tensor._edge is None:
        return [*conditions, f"{name}._edge is None"]
    if type(tensor._edge) is not AccumulateGrad or tensor._edge.site is not LEAF:
        raise RefusedError("a Tensor from outside is no leaf, or has hooks")
    return [*conditions, f"{name}._requires", f"{name}._edge.site is {w.bind(LEAF, 'leaf')}"]
