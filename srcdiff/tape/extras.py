"""The rare extras of recording: anomaly mode's stack traces, and the hooks on what is saved."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from srcdiff.tape.modes import modes
from srcdiff.tape.node import GradNode, Packed
from srcdiff.tape.site import is_inside
from srcdiff.tape.storage import Cell


def finish(node: GradNode, plain: Callable[[Any], Any]) -> None:
    """Do to a new node what the modes of this thread ask for. `plain` wraps an array in a Tensor."""
    if modes.anomaly:
        stack = traceback.walk_stack(None)
        frames = traceback.StackSummary.extract((f, line) for f, line in stack if not is_inside(f.f_code))
        frames.reverse()
        node.options.trace = "".join(frames.format())
    if modes.pack_hooks and node.saved:
        hooks = modes.pack_hooks[-1]
        packed: dict[int, Packed] = {}
        node.saved = tuple([_packed(value, packed, hooks, plain) for value in node.saved])
        node.mark()


def _packed(value: Any, packed: dict[int, Packed], hooks: Any, plain: Callable[[Any], Any]) -> Any:
    """A saved value as the hooks keep it, each array once."""
    if type(value) is tuple:
        return tuple([_packed(part, packed, hooks, plain) for part in value])
    array = value.array if type(value) is Cell else value
    if not hasattr(array, "dtype"):
        return value
    if id(array) not in packed:
        pack, unpack = hooks
        packed[id(array)] = Packed(pack(plain(array)), unpack)
    return packed[id(array)]
