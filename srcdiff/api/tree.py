"""Nested containers of arrays: taken apart into leaves, and put together again in the same structure.

Containers are tuple, list, dict (and OrderedDict, defaultdict), namedtuple, dataclass instances and None; all else is a
leaf.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from srcdiff.errors import ArgumentError

Rebuild = Callable[[list[Any]], Any]


def is_container(x: Any) -> bool:
    """Whether x has parts."""
    return x is None or isinstance(x, (tuple, list, dict)) or (dataclasses.is_dataclass(x) and not isinstance(x, type))


def parts_of(container: Any) -> list[Any]:
    """The parts of a container."""
    found = _parts(container)
    assert found is not None
    return found[1]


def built(container: Any, parts: list[Any]) -> Any:
    """A container like this one of other parts."""
    found = _parts(container)
    assert found is not None
    return found[2](parts)


def flatten(x: Any) -> tuple[list[Any], Rebuild]:
    """The leaves of `x` and the function that builds the same structure of other leaves."""
    leaves: list[Any] = []
    rebuild = _flatten(x, leaves)
    return leaves, lambda values: rebuild(iter(values))


def leaf_names(x: Any, stem: str) -> list[str]:
    """A name for each leaf: `params["w"]` is `params_w`."""
    out: list[str] = []
    _names(x, stem, out)
    return out


def map_leaves(function: Callable[[Any], Any], x: Any) -> Any:
    """The same structure with `function` of each leaf."""
    leaves, rebuild = flatten(x)
    return rebuild([function(leaf) for leaf in leaves])


def paired(x: Any, y: Any) -> list[tuple[Any, Any]]:
    """Each leaf of `x` with its counterpart in `y`, which has the same structure, or None for any part of it. Raises
    ArgumentError where it has another.
    """
    found = _parts(x) if is_container(x) else None
    if found is None:
        return [(x, y)]
    keys, parts, _ = found
    if y is None:
        return [pair for part in parts for pair in paired(part, None)]
    other = _parts(y) if is_container(y) else None
    if other is None or len(other[0]) != len(keys) or set(other[0]) != set(keys):
        raise ArgumentError(f"is {_shown(y)} where its value is {_shown(x)}")
    counterparts = dict(zip(other[0], other[1], strict=True))
    return [pair for key, part in zip(keys, parts, strict=True) for pair in paired(part, counterparts[key])]


def _shown(x: Any) -> str:
    """A container with its keys, or the type of a leaf."""
    found = _parts(x) if is_container(x) else None
    if found is None:
        return f"of type {type(x).__name__}"
    if isinstance(x, (tuple, list)) and not hasattr(x, "_fields"):
        return f"a {type(x).__name__} of {len(x)}"
    return f"a {type(x).__name__} of {', '.join(map(str, found[0])) or 'nothing'}"


def _parts(x: Any) -> tuple[list[Any], list[Any], Callable[[list[Any]], Any]] | None:
    """Keys, parts, and how to put parts together; None for a leaf."""
    if x is None:
        return [], [], lambda parts: None
    kind = type(x)
    if isinstance(x, dict):
        keys = list(x)
        if kind is dict:
            return keys, list(x.values()), lambda parts: dict(zip(keys, parts, strict=True))
        return keys, list(x.values()), lambda parts: _like_dict(x, keys, parts)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return list(x._fields), list(x), lambda parts: kind(*parts)
    if isinstance(x, (tuple, list)):
        return list(range(len(x))), list(x), lambda parts: kind(parts)
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = [field.name for field in dataclasses.fields(x)]
        return names, [getattr(x, n) for n in names], lambda parts: _like_dataclass(x, names, parts)
    return None


def _like_dict(x: Any, keys: list[Any], parts: list[Any]) -> Any:
    out = x.copy()
    out.update(zip(keys, parts, strict=True))
    return out


def _like_dataclass(x: Any, names: list[str], parts: list[Any]) -> Any:
    out = object.__new__(type(x))
    for name, part in zip(names, parts, strict=True):
        object.__setattr__(out, name, part)
    return out


def _flatten(x: Any, leaves: list[Any]) -> Callable[[Any], Any]:
    found = _parts(x) if is_container(x) else None
    if found is None:
        leaves.append(x)
        return next
    _, parts, build = found
    inner = [_flatten(part, leaves) for part in parts]
    return lambda values: build([rebuild(values) for rebuild in inner])


def _names(x: Any, stem: str, out: list[str]) -> None:
    found = _parts(x) if is_container(x) else None
    if found is None:
        out.append(stem)
        return
    for key, part in zip(found[0], found[1], strict=True):
        _names(part, f"{stem}_{key}", out)
