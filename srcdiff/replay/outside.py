"""The conditions of a guard about what a function reads from outside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import is_
from types import ModuleType
from typing import Any

import numpy as np

from srcdiff.replay.alike import ANYTHING, FEW, holds, same, unchanged
from srcdiff.replay.allowed import SCALAR_TYPES
from srcdiff.replay.containers import MAPPINGS
from srcdiff.replay.findings import MISSING, Read, RefusedError
from srcdiff.replay.places import Place
from srcdiff.replay.writer import Writer

CONSTANT_TYPES = (int, float, bool, complex, str, bytes)


def outside_conditions(w: Writer, reads: Sequence[Read], copies: dict[int, Any]) -> list[str]:
    """That all that was read from outside is what it was; `copies` as in `write_guard`."""
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
            conditions.append(f"type({holder}) is {w.bind(read.value, read.value.__name__)}")
            if hasattr(read.holder, "__dict__"):
                conditions.append(f"{holder}.__dict__ is {w.bind(read.holder.__dict__, f'{holder}_state')}")
        elif read.kind == "found":
            conditions += _same_as(w, f"{holder}.{read.name}", read.name, read.value, copies)
        elif read.kind == "partial":
            for name, part in zip(("func", "args", "keywords"), read.value, strict=True):
                conditions.append(f"{holder}.{name} is {w.bind(part, name)}")
            conditions += _contents(w, read.value[1], copies)
        elif read.kind == "content":
            conditions += _content(w, holder, read, copies)
        elif read.kind == "class size":
            size, bases = read.value
            conditions += [f"len({holder}.__dict__) == {size}", f"{holder}.__mro__ is {w.bind(bases, 'bases')}"]
        elif read.kind == "class attribute":
            expected = w.bind(read.value, read.name)
            conditions.append(f"{holder}.__dict__.get({read.name!r}, {missing}) is {expected}")
        else:
            place = f"{holder}.get({read.name!r}, {missing})"
            if read.kind == "cell":
                place = f"{holder}.cell_contents"
            elif read.kind == "slot":
                place = f"getattr({holder}, {read.name!r}, {missing})"
            if Place(id(read.holder), read.name) in w.numbers:
                conditions.append(_number(w, place, Place(id(read.holder), read.name), read.value))
            else:
                conditions += _same_as(w, place, read.name, read.value, copies)
    return conditions


def _number(w: Writer, expression: str, place: Place, value: Any) -> str:
    """That there is a number of that type, which comes into a variable."""
    w.numbers[place] = w.fresh(place.name or "number")
    return f"type({w.numbers[place]} := {expression}) is {type(value).__name__}"


def _content(w: Writer, holder: str, read: Read, copies: dict[int, Any]) -> list[str]:
    """That a container has the parts it had: the same objects, or equal plain data."""
    free = {place.key for place in w.numbers if place.holder == id(read.holder)}
    if type(read.holder) not in MAPPINGS:
        keys, parts, now = range(len(read.value)), read.value, holder
        conditions = [f"len({holder}) == {len(parts)}"]
    else:
        keys, parts = read.value
        if len(keys) <= FEW and all(type(key) is str for key in keys):
            return _of_few(w, holder, id(read.holder), dict(zip(keys, parts, strict=True)), copies)
        now = f"{holder}.values()"
        conditions = [f"{w.bind(same, 'same')}((*{holder},), {w.bind(keys, 'keys')})"]
        if all(type(key) is str for key in keys):
            conditions = [f"[*{holder}] == {w.bind(list(keys), 'keys')}"]
    if free:
        for key, part in zip(keys, parts, strict=True):
            if key in free:
                conditions.append(_number(w, f"{holder}[{key!r}]", Place(id(read.holder), key), part))
        parts = tuple(ANYTHING if key in free else part for key, part in zip(keys, parts, strict=True))
    if parts:
        expected = w.bind(parts, "parts")
        alike = f"{w.bind(all, 'all')}({w.bind(map, 'map')}({{}}, {now}, {expected}))"
        first, second = alike.format(w.bind(is_, "is_")), alike.format(w.bind(same, "same"))
        conditions.append(second if free else f"({first} or {second})")
    for part in parts:
        conditions += _contents(w, part, copies)
    return conditions


def _of_few(w: Writer, holder: str, number: int, content: dict[str, Any], copies: dict[int, Any]) -> list[str]:
    """The same of a small dict, whose id is `number`, part by part: half as long as looking at it as a whole."""
    if not content:
        return [f"not {holder}"]
    conditions = [f"[*{holder}] == {w.bind(list(content), 'keys')}"]
    for key, part in content.items():
        place = f"{holder}.get({key!r})"
        if Place(number, key) in w.numbers:
            conditions.append(_number(w, place, Place(number, key), part))
        elif part is ANYTHING:
            continue
        elif part is None or type(part) is bool:
            conditions.append(f"{place} is {part}")
        elif type(part) in CONSTANT_TYPES or type(part) in SCALAR_TYPES or isinstance(part, tuple):
            expected = w.bind(part, key)
            conditions.append(f"({place} is {expected} or {w.bind(same, 'same')}({place}, {expected}))")
        else:
            conditions.append(f"{place} is {w.bind(part, key)}")
        conditions += _contents(w, part, copies)
    return conditions


def _holder_name(read: Read) -> str:
    if read.kind == "found":
        return str(getattr(read.holder, "__name__", "holder")).rpartition(".")[2]
    if read.kind in ("attribute", "content", "slot", "type"):
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
    if (kind in CONSTANT_TYPES or kind in SCALAR_TYPES or issubclass(kind, tuple)) and not _has_array(value):
        variable = w.fresh(name)
        return [*constant_conditions(w, f"({variable} := {place})", variable, value)]
    return [f"{place} is {w.bind(value, value.__name__ if kind is ModuleType else name)}", *_contents(w, value, copies)]


def _contents(w: Writer, value: Any, copies: dict[int, Any]) -> list[str]:
    """That the arrays in an object that is the same are unchanged."""
    if type(value) is np.ndarray:
        array, contents = w.bind(value, "array"), w.bind(copies[id(value)], "contents")
        return [f"{w.bind(unchanged, 'unchanged')}({array}, {contents})"]
    if isinstance(value, tuple):
        return [condition for part in value for condition in _contents(w, part, copies)]
    return []


def _has_array(value: Any) -> bool:
    return type(value) is np.ndarray or (isinstance(value, tuple) and any(map(_has_array, value)))


def constant_conditions(w: Writer, place: str, again: str, value: Any) -> tuple[str, ...]:
    """The conditions that plain data is what it was, as `same` has it. `place` reads it, `again` once it has been."""
    kind = type(value)
    if value is None or kind is bool:
        return (f"{place} is {value!r}",)
    if kind is int or (kind in (str, bytes) and len(value) < 40) or (kind is float and 0 < abs(value) < math.inf):
        return f"type({place}) is {kind.__name__}", f"{again} == {value!r}"
    return (f"{w.bind(same, 'same')}({place}, {w.bind(value, 'constant')})",)
