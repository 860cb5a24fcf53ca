"""Guards: generated code that looks at everything a recorded call depended on, and collects the arrays to replay it
with.

It gives up unless the arguments have the structure, types, shapes, dtypes and static values of the recorded call, and
all that was read from outside is what it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import is_
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from srcdiff.codegen.namer import Namer
from srcdiff.replay.allowed import SCALAR_TYPES
from srcdiff.replay.enums import is_member
from srcdiff.replay.findings import MISSING, Read, RefusedError
from srcdiff.replay.records import fields_of
from srcdiff.tape.node import LEAF, AccumulateGrad
from srcdiff.tape.value import TensorBase

_CONSTANT_TYPES = (int, float, bool, complex, str, bytes)
_WIDTH = 100
#: parts of a dict that are looked at one by one
_FEW = 12


def same(value: Any, expected: Any) -> bool:
    """Whether plain data is what it was: types and values, the sign of zero included."""
    if type(value) is not type(expected):
        return False
    if type(expected) is tuple:
        return len(value) == len(expected) and all(map(same, value, expected))
    if type(expected) is float:
        return value == expected and (expected != 0 or math.copysign(1, value) == math.copysign(1, expected))
    if type(expected) is complex:
        return repr(value) == repr(expected)
    if isinstance(expected, np.generic):
        return bool(value.tobytes() == expected.tobytes())
    if isinstance(expected, (int, str, bytes)):
        return bool(value == expected)
    return value is expected


def unchanged(array: Any, copy: Any) -> bool:
    """Whether an array has the contents that it had when it was copied."""
    return bool(array.dtype == copy.dtype and array.shape == copy.shape and array.tobytes() == copy.tobytes())


def holds(cls: Any, content: tuple[tuple[str, Any], ...]) -> bool:
    """Whether a class has what it had, the same objects."""
    now = tuple(vars(cls).items())
    return len(now) == len(content) and all(a[0] == b[0] and a[1] is b[1] for a, b in zip(now, content, strict=True))


class Writer:
    """The text of a function as it grows, and the objects that it names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self._bound: dict[int, str] = {}
        #: the variables of Tensors among the arguments
        self.tensors: list[str] = []
        #: the variables of numbers among the arguments that are no constants
        self.numbers: list[str] = []
        self._namer = Namer()
        for name in ("args", "kwargs"):
            self.fresh(name)

    def bind(self, value: Any, stem: str) -> str:
        """The name of an object."""
        name = self._bound.get(id(value))
        if name is None:
            name = self._bound[id(value)] = self.fresh(stem)
            self.names[name] = value
        return name

    def fresh(self, stem: str) -> str:
        """A name for a variable."""
        return self._namer.take(stem)

    def require(self, *conditions: str, instead: str = "False") -> None:
        """Give up unless the conditions hold, and return something instead."""
        if not conditions:
            return
        line = f"    if not ({' and '.join(conditions)}):"
        if len(line) <= _WIDTH:
            self.lines.append(line)
        else:
            first, *others = conditions
            self.lines += ["    if not (", f"        {first}", *(f"        and {each}" for each in others), "    ):"]
        self.lines.append(f"        return {instead}")


def targets(names: Sequence[str]) -> str:
    """What stands on the left where a sequence is unpacked."""
    return ", ".join(names) if len(names) > 1 else f"{names[0]},"


def write_guard(
    w: Writer,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    label: Callable[[Any], str],
    data: dict[tuple[Any, ...], bool],
    reads: Sequence[Read],
    copies: dict[int, Any],
) -> list[str]:
    """Write a guard for calls like this one: it returns False for others. The result are the expressions of the values
    to replay with. `label` gives the names of arguments. `data` has the paths of the Python numbers that are data, not
    constants, and whether they are differentiated; `copies` what was in the arrays read from outside before the call,
    by their ids.

    Raises RefusedError for arguments that cannot be guarded.
    """
    arrays: list[str] = []
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
    conditions = list(_outside(w, reads, copies))
    if conditions:
        w.lines.append("    # what it reads from outside")
        w.require(*conditions)
    return arrays


def _argument(
    w: Writer, name: str, value: Any, path: tuple[Any, ...], data: dict[tuple[Any, ...], bool], arrays: list[str]
) -> None:
    """Look at the argument, or part of one, that is in the variable `name`."""
    kind = type(value)
    if kind is np.ndarray:
        dtype = w.bind(value.dtype, str(value.dtype))
        w.require(
            f"type({name}) is {w.bind(np.ndarray, 'ndarray')}",
            f"{name}.shape == {value.shape}",
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
    elif kind is float and path in data and not data[path]:
        w.require(f"type({name}) is float")
        w.numbers.append(name)
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
    elif kind is dict:
        if all(type(key) is str for key in value):
            w.require(f"type({name}) is dict", f"[*{name}] == {w.bind(list(value), f'{name}_keys')}")
        else:  # 1 == True
            same_keys = f"{w.bind(same, 'same')}(tuple({name}), {w.bind(tuple(value), f'{name}_keys')})"
            w.require(f"type({name}) is dict", same_keys)
        for key, part in value.items():
            if type(key) not in (str, int):
                raise RefusedError(f"a dict argument has a key of type {type(key).__name__}")
            inner = w.fresh(f"{name}_{key}"[:40])
            w.lines.append(f"    {inner} = {name}[{key!r}]")
            _argument(w, inner, part, (*path, key), data, arrays)
    elif value is None or (kind in _CONSTANT_TYPES and value == value):
        w.require(*_constant(w, name, name, value))
    elif kind is FunctionType or kind is ModuleType or kind is np.ufunc:
        w.require(f"{name} is {w.bind(value, value.__name__)}")
    elif is_member(value):
        w.require(f"{name} is {w.bind(value, value.name)}")
    elif (fields := fields_of(value)) is not None:
        w.require(f"type({name}) is {w.bind(kind, kind.__name__)}")
        if not isinstance(value, tuple):
            w.require(f"[*{name}.__dict__] == {w.bind(list(fields), f'{name}_fields')}")
        for field in fields:
            inner = w.fresh(f"{name}_{field}"[:40])
            w.lines.append(f"    {inner} = {name}.{field}")
            _argument(w, inner, getattr(value, field), (*path, field), data, arrays)
    else:
        raise RefusedError(f"an argument is a {kind.__module__}.{kind.__qualname__}")


def tensor_conditions(w: Writer, name: str, inner: str, tensor: Any) -> list[str]:
    """That a Tensor has a value like that of `tensor`, which comes into the variable `inner`, and is a leaf if that is
    one, without hooks, or else outside any graph. Raises RefusedError for other Tensors.
    """
    value = tensor._value
    dtype = w.bind(value.dtype, str(value.dtype))
    conditions = [
        f"({inner} := {name}._value).shape == {value.shape}",
        f"({inner}.dtype is {dtype} or {inner}.dtype == {dtype})",
    ]
    if tensor._edge is None:
        return [*conditions, f"{name}._edge is None"]
    if type(tensor._edge) is not AccumulateGrad or tensor._edge.site is not LEAF:
        raise RefusedError("a Tensor from outside is no leaf, or has hooks")
    return [*conditions, f"{name}._requires", f"{name}._edge.site is {w.bind(LEAF, 'leaf')}"]


def _constant(w: Writer, place: str, again: str, value: Any) -> tuple[str, ...]:
    """The conditions that plain data is what it was, as `same` has it. `place` reads it, `again` once it has been."""
    kind = type(value)
    if value is None or kind is bool:
        return (f"{place} is {value!r}",)
    if kind is int or (kind in (str, bytes) and len(value) < 40) or (kind is float and 0 < abs(value) < math.inf):
        return f"type({place}) is {kind.__name__}", f"{again} == {value!r}"
    return (f"{w.bind(same, 'same')}({place}, {w.bind(value, 'constant')})",)


def _outside(w: Writer, reads: Sequence[Read], copies: dict[int, Any]) -> list[str]:
    done: set[tuple[str, int, str]] = set()
    missing = w.bind(MISSING, "missing")
    conditions: list[str] = []
    for read in reads:
        key = (read.kind, id(read.holder), read.name)
        if key in done:
            continue
        done.add(key)
        holder = w.bind(read.holder, _holder_name(read))
        if read.kind == "code":
            conditions.append(f"{holder}.__code__ is {w.bind(read.value, f'{holder}_code')}")
        elif read.kind == "defaults":
            conditions += _defaults(w, holder, read.value, copies)
        elif read.kind == "class":
            conditions.append(f"{w.bind(holds, 'holds')}({holder}, {w.bind(read.value, 'content')})")
        elif read.kind == "type":
            state = w.bind(read.holder.__dict__, f"{holder}_state")
            conditions += [
                f"type({holder}) is {w.bind(read.value, read.value.__name__)}",
                f"{holder}.__dict__ is {state}",
            ]
        elif read.kind == "found":
            conditions += _same_as(w, f"{holder}.{read.name}", read.name, read.value, copies)
        elif read.kind == "content":
            conditions += _content(w, holder, read, copies)
        elif read.kind == "class size":
            size, bases = read.value
            conditions += [f"len({holder}.__dict__) == {size}", f"{holder}.__mro__ is {w.bind(bases, 'bases')}"]
        elif read.kind == "class attribute":
            expected = w.bind(read.value, read.name)
            conditions.append(f"{holder}.__dict__.get({read.name!r}, {missing}) is {expected}")
        elif read.kind == "cell":
            conditions += _same_as(w, f"{holder}.cell_contents", read.name, read.value, copies)
        else:
            conditions += _same_as(w, f"{holder}.get({read.name!r}, {missing})", read.name, read.value, copies)
    return conditions


def _content(w: Writer, holder: str, read: Read, copies: dict[int, Any]) -> list[str]:
    """That a list or a dict has the parts it had: the same objects, or equal plain data."""
    if type(read.holder) is list:
        parts, now = read.value, holder
        conditions = [f"len({holder}) == {len(parts)}"]
    else:
        keys, parts = read.value
        if len(keys) <= _FEW and all(type(key) is str for key in keys):
            return _of_few(w, holder, dict(zip(keys, parts, strict=True)), copies)
        now = f"{holder}.values()"
        conditions = [f"{w.bind(same, 'same')}((*{holder},), {w.bind(keys, 'keys')})"]
        if all(type(key) is str for key in keys):
            conditions = [f"[*{holder}] == {w.bind(list(keys), 'keys')}"]
    if parts:
        expected = w.bind(parts, "parts")
        alike = f"{w.bind(all, 'all')}({w.bind(map, 'map')}({{}}, {now}, {expected}))"
        first, second = alike.format(w.bind(is_, "is_")), alike.format(w.bind(same, "same"))
        conditions.append(f"({first} or {second})")
    for part in parts:
        conditions += _contents(w, part, copies)
    return conditions


def _of_few(w: Writer, holder: str, content: dict[str, Any], copies: dict[int, Any]) -> list[str]:
    """The same of a small dict, part by part: half as long as looking at it as a whole."""
    if not content:
        return [f"not {holder}"]
    conditions = [f"[*{holder}] == {w.bind(list(content), 'keys')}"]
    for key, part in content.items():
        place = f"{holder}.get({key!r})"
        if part is None or type(part) is bool:
            conditions.append(f"{place} is {part}")
        elif type(part) in _CONSTANT_TYPES or type(part) in SCALAR_TYPES or type(part) is tuple:
            expected = w.bind(part, key)
            conditions.append(f"({place} is {expected} or {w.bind(same, 'same')}({place}, {expected}))")
        else:
            conditions.append(f"{place} is {w.bind(part, key)}")
        conditions += _contents(w, part, copies)
    return conditions


def _holder_name(read: Read) -> str:
    if read.kind == "found":
        return str(getattr(read.holder, "__name__", "holder")).rpartition(".")[2]
    if read.kind in ("attribute", "content", "type"):
        return f"of_{read.name}" if read.name.isidentifier() else "holder"
    if read.kind in ("class attribute", "class size"):
        return str(read.holder.__name__)
    if read.kind in ("global", "module"):
        return f"globals_of_{str(read.holder.get('__name__', 'module')).rpartition('.')[2]}"
    return f"{read.name}_cell" if read.kind == "cell" else read.name


def _defaults(w: Writer, holder: str, defaults: tuple[Any, Any], copies: dict[int, Any]) -> list[str]:
    positional, keyword = defaults
    expected = "None" if positional is None else w.bind(positional, f"{holder}_defaults")
    conditions = [f"{holder}.__defaults__ is {expected}"]
    for default in positional or ():
        conditions += _contents(w, default, copies)
    if keyword is None:
        return [*conditions, f"{holder}.__kwdefaults__ is None"]
    items = w.bind(tuple(keyword.items()), f"{holder}_kwdefaults")
    conditions.append(f"{w.bind(same, 'same')}(tuple(({holder}.__kwdefaults__ or {{}}).items()), {items})")
    for default in keyword.values():
        conditions += _contents(w, default, copies)
    return conditions


def _same_as(w: Writer, place: str, name: str, value: Any, copies: dict[int, Any]) -> list[str]:
    kind = type(value)
    if kind in (float, complex) and value != value:
        raise RefusedError("a NaN is read from outside")
    if (kind in _CONSTANT_TYPES or kind in SCALAR_TYPES or kind is tuple) and not _has_array(value):
        variable = w.fresh(name)
        return [*_constant(w, f"({variable} := {place})", variable, value)]
    return [f"{place} is {w.bind(value, value.__name__ if kind is ModuleType else name)}", *_contents(w, value, copies)]


def _contents(w: Writer, value: Any, copies: dict[int, Any]) -> list[str]:
    """That the arrays in an object that is the same are unchanged."""
    if type(value) is np.ndarray:
        array, contents = w.bind(value, "array"), w.bind(copies[id(value)], "contents")
        return [f"{w.bind(unchanged, 'unchanged')}({array}, {contents})"]
    if type(value) is tuple:
        return [condition for part in value for condition in _contents(w, part, copies)]
    return []


def _has_array(value: Any) -> bool:
    return type(value) is np.ndarray or (type(value) is tuple and any(map(_has_array, value)))
