"""The containers that are looked at part by part, and what is in one of them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from operator import is_
from types import MappingProxyType
from typing import Any, Final

#: those with keys, and all of them
MAPPINGS: Final = (dict, OrderedDict, defaultdict, MappingProxyType)
KINDS: Final = (list, deque, *MAPPINGS)
WRITABLE: Final = tuple(kind for kind in KINDS if kind is not MappingProxyType)
#: those which an argument may be that hold data
DICTS: Final = (dict, OrderedDict)


def content_of(container: Any) -> tuple[tuple[Any, ...] | None, tuple[Any, ...]]:
    """The keys of a container, if it has some, and its parts."""
    if type(container) in MAPPINGS:
        return tuple(container), tuple(container.values())
    return None, tuple(container)


def same_parts(container: Any, copy: Any) -> bool:
    """Whether a container has the same objects as its copy, or as another one, in the same order."""
    pair = [[*each, *each.values()] if type(each) in MAPPINGS else each for each in (container, copy)]
    return len(pair[0]) == len(pair[1]) and all(map(is_, *pair))


def refill(container: Any, content: Any) -> None:
    """Put back what was in a container, of which `content` is a copy."""
    container.clear()
    (container.update if type(container) in MAPPINGS else container.extend)(content)
