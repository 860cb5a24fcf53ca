"""Classes of namedtuples: whether instances can do anything but hold their fields."""

from __future__ import annotations

import collections
from typing import Any

_SAMPLE: Any = collections.namedtuple("_SAMPLE", "a")
_FIELD = type(vars(_SAMPLE)["a"])
_MODULE = vars(_SAMPLE)["_replace"].__globals__
#: what namedtuple and typing.NamedTuple put into their classes, apart from the fields
_OWN = frozenset(vars(_SAMPLE)) - {"a"} | frozenset((
    "__annotations__", "__orig_bases__", "__static_attributes__", "__firstlineno__", "__annotate__",
    "__annotate_func__", "__annotations_cache__",
))  # fmt: skip


def is_plain_record(cls: Any) -> bool:
    """Whether a class is what `namedtuple` makes: with no methods but its, and no properties but the fields."""
    if type(cls) is not type or cls.__bases__ != (tuple,):
        return False
    fields: Any = getattr(cls, "_fields", ())
    for name, value in vars(cls).items():
        if name in fields:
            if type(value) is not _FIELD:
                return False
        elif name not in _OWN:
            return False
    methods = [vars(cls).get(name) for name in ("__repr__", "_replace", "_asdict", "__getnewargs__")]
    made = getattr(cls.__new__, "__globals__", {}).get("__name__") == f"namedtuple_{cls.__name__}"
    return made and all(getattr(method, "__globals__", None) is _MODULE for method in methods)
