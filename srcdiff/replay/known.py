"""Functions and types that replayable functions may use for what they are, whatever they are called.

A name in `allowed` says what may be read of anything; these objects are known by identity, so that one which took the
place of another is not taken for it. Their results are decided by their arguments, and they have no effect; functions
that they are given have been examined like all that the code names.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import contextlib
import dataclasses
import functools
import heapq
import itertools
import operator
import typing
import warnings
from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np

from srcdiff.functions import dispatch
from srcdiff.replay.allowed import ORIGINALS

_T = TypeVar("_T", bound=Callable[..., Any])

_known: dict[int, Any] = {}


def replayed(function: _T) -> _T:
    """Mark a function of srcdiff's: its result is decided by its arguments, it has no effect, and all that it does with
    the values of Tensors a recorder sees.
    """
    _known[id(function)] = function
    return function


def is_known(value: Any) -> bool:
    """Whether a function or type is one of these."""
    if _known.get(id(value), _known) is value:
        return True
    return type(value) is _DISPATCHER and value in dispatch.FUNCTIONS and value not in _EFFECTS


def stores(value: Any) -> bool:
    """Whether a known function writes into its arguments."""
    return _STORING.get(id(value), _STORING) is value


def compares(value: Any) -> bool:
    """Whether a known function may compare objects with each other: one of `operator`, as far as can be told."""
    return getattr(value, "__module__", None) in ("_operator", "operator")


def filters(value: Any) -> bool:
    """Whether a known function changes the filters of warnings."""
    return value is warnings.simplefilter or value is warnings.filterwarnings


_DISPATCHER: Any = type(np.sum)
#: of the functions that take Tensors, those that write files, or tell of the memory
_EFFECTS: Final = frozenset(
    (np.save, np.savetxt, np.savez, np.savez_compressed, np.may_share_memory, np.shares_memory)
)  # fmt: skip
_STORING: Final = {
    id(function): function
    for function in (
        np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask,
        heapq.heapify, heapq.heappop, heapq.heappush, heapq.heappushpop, heapq.heapreplace,
        bisect.insort, bisect.insort_left, bisect.insort_right,
        operator.delitem, operator.setitem, operator.iadd, operator.imul, operator.isub, operator.itruediv,
        operator.iconcat, operator.ipow, operator.imatmul,
    )
}  # fmt: skip
#: of `operator`, what reads attributes and calls methods whose names no code shows
_BY_NAME: Final = frozenset(("attrgetter", "methodcaller", "call"))
_TOOLS: Final = (
    functools.partial, functools.reduce, functools.lru_cache, functools.cache, functools.cmp_to_key,
    bisect.bisect, bisect.bisect_left, bisect.bisect_right, heapq.merge, heapq.nlargest, heapq.nsmallest,
    collections.deque, collections.defaultdict, collections.Counter, collections.OrderedDict,
    contextlib.nullcontext, contextlib.suppress, dataclasses.replace, typing.cast,
    # what these change is changed back; the recorder looks at NumPy's state, and at the filters afterwards
    np.errstate, warnings.catch_warnings, warnings.simplefilter, warnings.filterwarnings,
    np.ndindex, np.ndenumerate, np.nditer, np.finfo, np.iinfo, np.vectorize, np.dtype, np.issubdtype,
    np.broadcast_shapes, np.fromfunction, np.r_, np.c_, np.s_, np.index_exp, np.ogrid, np.mgrid,
)  # fmt: skip
for _each in (
    *_TOOLS,
    *_STORING.values(),
    *(each for each in vars(itertools).values() if isinstance(each, type)),
    *(each for name, each in vars(operator).items() if name[:1] != "_" and name not in _BY_NAME),
    *(each for each in vars(builtins).values() if isinstance(each, type) and issubclass(each, Exception)),
    *(each for names in ORIGINALS.values() for each in names.values() if callable(each)),
):
    _known[id(_each)] = _each
