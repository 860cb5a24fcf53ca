"""Guards: generated code that looks at everything a recorded call depended on, and collects the arrays to replay it
with.

`guard(args, kwargs)` gives a tuple of arrays if the arguments have the structure, types, shapes, dtypes and static
values of the recorded call, and all that was read from outside is what it was; else None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from srcdiff.replay.allowed import SCALAR_TYPES
from srcdiff.replay.purity import MISSING, Read, RefusedError

Guard = Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...] | None]

_CONSTANT_TYPES = (int, float, bool, complex, str, bytes)


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


class _Writer:
    """The text of one guard as it grows."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "same": same,
            "unchanged": unchanged,
            "holds": holds,
            "ndarray": np.ndarray,
            "float64": np.float64,
            "complex128": np.complex128,
        }
        self.arrays: list[str] = []
        self._count = 0

    def bind(self, value: Any, stem: str) -> str:
        """A name for an object in the guard's namespace."""
        self._count += 1
        name = f"{stem}{self._count}"
        self.names[name] = value
        return name

    def fresh(self, stem: str) -> str:
        """A name for a variable."""
        self._count += 1
        return f"{stem}{self._count}"

    def require(self, condition: str) -> None:
        """Give up unless the condition holds."""
        self.lines.append(f"    if not ({condition}): return None")


def make_guard(
    args: Sequence[Any],
    kwargs: dict[str, Any],
    data: set[tuple[Any, ...]],
    reads: Sequence[Read],
    copies: dict[int, Any],
) -> tuple[Guard, str]:
    """A guard for calls like this one, and its text. `data` has the paths of the Python numbers that are data, not
    constants; `copies` what was in the arrays read from outside before the call, by their ids.

    Raises RefusedError for arguments that cannot be guarded.
    """
    writer = _Writer()
    writer.lines.append("def guard(args, kwargs):")
    writer.require(f"len(args) == {len(args)} and len(kwargs) == {len(kwargs)}")
    for k, value in enumerate(args):
        _argument(writer, f"args[{k}]", value, (k,), data)
    if kwargs:
        writer.require(f"tuple(kwargs) == {writer.bind(tuple(kwargs), 'keywords')}")
    for key, value in kwargs.items():
        _argument(writer, f"kwargs[{key!r}]", value, (key,), data)
    _outside(writer, reads, copies)
    listed = "".join(f"{name}, " for name in writer.arrays)
    writer.lines.append(f"    return ({listed})")
    text = "\n".join(writer.lines)
    namespace = dict(writer.names)
    exec(compile(text, "<srcdiff guard>", "exec"), namespace)
    return namespace["guard"], text


def _argument(w: _Writer, place: str, value: Any, path: tuple[Any, ...], data: set[tuple[Any, ...]]) -> None:
    kind = type(value)
    if kind is np.ndarray or kind in SCALAR_TYPES:
        name = w.fresh("x")
        dtype = w.bind(value.dtype, "dtype")
        test = "type({0}) is ndarray" if kind is np.ndarray else f"type({{0}}) is {w.bind(kind, 'scalar')}"
        w.lines.append(f"    {name} = {place}")
        w.require(
            f"{test.format(name)} and ({name}.dtype is {dtype} or {name}.dtype == {dtype}) "
            f"and {name}.shape == {value.shape}"
        )
        w.arrays.append(name)
    elif kind in (float, complex) and path in data:
        name = w.fresh("x")
        w.lines.append(f"    {name} = {place}")
        w.require(f"type({name}) is {kind.__name__}")
        w.arrays.append(f"{'float64' if kind is float else 'complex128'}({name})")
    elif kind in (list, tuple):
        name = w.fresh("t")
        w.lines.append(f"    {name} = {place}")
        w.require(f"type({name}) is {kind.__name__} and len({name}) == {len(value)}")
        for k, part in enumerate(value):
            _argument(w, f"{name}[{k}]", part, (*path, k), data)
    elif kind is dict:
        name = w.fresh("d")
        w.lines.append(f"    {name} = {place}")
        if all(type(key) is str for key in value):
            w.require(f"type({name}) is dict and list({name}) == {w.bind(list(value), 'keys')}")
        else:  # 1 == True
            w.require(f"type({name}) is dict and same(tuple({name}), {w.bind(tuple(value), 'keys')})")
        for key, part in value.items():
            if type(key) not in (str, int):
                raise RefusedError(f"a dict argument has a key of type {type(key).__name__}")
            _argument(w, f"{name}[{key!r}]", part, (*path, key), data)
    elif value is None:
        w.require(f"{place} is None")
    elif kind in _CONSTANT_TYPES and value == value:
        w.require(f"same({place}, {w.bind(value, 'constant')})")
    elif kind is FunctionType or kind is ModuleType or kind is np.ufunc:
        w.require(f"{place} is {w.bind(value, 'static')}")
    else:
        raise RefusedError(f"an argument is a {kind.__module__}.{kind.__qualname__}")


def _outside(w: _Writer, reads: Sequence[Read], copies: dict[int, Any]) -> None:
    done: set[tuple[str, int, str]] = set()
    missing = w.bind(MISSING, "missing")
    for read in reads:
        key = (read.kind, id(read.holder), read.name)
        if key in done:
            continue
        done.add(key)
        holder = w.bind(read.holder, read.kind)
        if read.kind == "code":
            w.require(f"{holder}.__code__ is {w.bind(read.value, 'code')}")
        elif read.kind == "defaults":
            _defaults(w, holder, read.value, copies)
        elif read.kind == "class":
            w.require(f"holds({holder}, {w.bind(read.value, 'content')})")
        elif read.kind == "cell":
            _same_as(w, f"{holder}.cell_contents", read.value, copies)
        else:
            _same_as(w, f"{holder}.get({read.name!r}, {missing})", read.value, copies)


def _defaults(w: _Writer, holder: str, defaults: tuple[Any, Any], copies: dict[int, Any]) -> None:
    positional, keyword = defaults
    w.require(f"{holder}.__defaults__ is {w.bind(positional, 'defaults')}")
    for default in positional or ():
        _contents(w, default, copies)
    if keyword is None:
        w.require(f"{holder}.__kwdefaults__ is None")
        return
    w.require(f"same(tuple(({holder}.__kwdefaults__ or {{}}).items()), {w.bind(tuple(keyword.items()), 'defaults')})")
    for default in keyword.values():
        _contents(w, default, copies)


def _same_as(w: _Writer, place: str, value: Any, copies: dict[int, Any]) -> None:
    kind = type(value)
    if kind in (float, complex) and value != value:
        raise RefusedError("a NaN is read from outside")
    if (kind in _CONSTANT_TYPES or kind in SCALAR_TYPES or kind is tuple) and not _has_array(value):
        w.require(f"same({place}, {w.bind(value, 'constant')})")
        return
    w.require(f"{place} is {w.bind(value, 'object')}")
    _contents(w, value, copies)


def _contents(w: _Writer, value: Any, copies: dict[int, Any]) -> None:
    """Require that the arrays in an object that is the same are unchanged."""
    if type(value) is np.ndarray:
        w.require(f"unchanged({w.bind(value, 'array')}, {w.bind(copies[id(value)], 'contents')})")
    elif type(value) is tuple:
        for part in value:
            _contents(w, part, copies)


def _has_array(value: Any) -> bool:
    return type(value) is np.ndarray or (type(value) is tuple and any(map(_has_array, value)))
