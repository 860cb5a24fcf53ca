"""Memory: who shares it, how often it was written, and which saved values a write would change.

A Tensor that owns its memory alone has no Storage; one is made when it is viewed, detached or written. Guarantees:
    - every write through any alias raises `version` by one and makes the cells of values saved before it unreadable
      (reading `cell.array` raises AttributeError), or replaces them by a copy made just before the write (`snapshot`);
    - nothing here keeps a Tensor alive: a Storage refers to its aliases and cells weakly, and only tells its views that
      their base has a new place in the graph (`renew_views`).
"""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from srcdiff.errors import AutogradError
from srcdiff.tape.modes import modes
from srcdiff.tape.site import in_library, user_place

_INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use no_grad() instead of inference_mode()."
)


class Cell:
    """A value saved for backward. `array` is missing once a write has made it stale; `storage` then says by whom."""

    __slots__ = ("__weakref__", "array", "storage", "version", "written")

    #: set by the write that made the value stale: where it happened, and code object and instruction of it
    storage: Storage
    written: Any

    def __init__(self, array: Any, version: int = 0) -> None:
        self.array = array
        self.version = version


#: stands for an output that is not saved where others of the same operation are
UNREAD = Cell(None)


class Storage:
    """Shared memory: a version counter, and weak references to the tensors and saved values on it."""

    __slots__ = ("aliases", "cells", "exports", "version")

    def __init__(self) -> None:
        self.version = 0
        #: plain arrays on this memory that were given away by `export`
        self.exports: list[ref[Any]] = []
        self.aliases: list[ref[Any]] = []
        self.cells: list[ref[Cell]] = []

    def add_alias(self, tensor: Any) -> None:
        """Remember another tensor on this memory."""
        aliases = self.aliases
        if len(aliases) >= 8 and len(aliases) & (len(aliases) - 1) == 0:
            aliases[:] = [r for r in aliases if r() is not None]
        aliases.append(ref(tensor))

    def add_cell(self, cell: Cell) -> None:
        """Remember a value saved from this memory."""
        cells = self.cells
        if len(cells) >= 8 and len(cells) & (len(cells) - 1) == 0:
            cells[:] = [r for r in cells if r() is not None]
        cells.append(ref(cell))

    def tensors(self) -> list[Any]:
        """The tensors on this memory that are alive."""
        return [t for t in (r() for r in self.aliases) if t is not None]

    def before_write(self, snapshot: bool, place: Any = None) -> None:
        """Call before the memory changes: protects (`snapshot`) or invalidates saved values, and counts the write. The
        place of the write in the user's code is looked for if it is not given.

        Values are protected from the writes of installed libraries too: there is nothing a user could change."""
        if modes.recorder is not None:
            modes.recorder.written(self.tensors())
        for tensor in self.tensors():  # first: whoever is interrupted here has tensors that can be used
            tensor._cell = None
        for r in self.cells:
            cell = r()
            if cell is None:
                continue
            if snapshot or (snapshot := in_library()):
                cell.array = cell.array.copy()
            else:
                cell.storage = self
                cell.written = place = place or user_place(2)
                del cell.array
        self.cells.clear()
        self.version += 1

    def renew_views(self, base: Any) -> None:
        """Let the views of `base`, whose place in the graph has changed, find theirs anew when they are next used."""
        if len(self.aliases) == 1:
            return
        for tensor in self.tensors():
            view = tensor._view
            if view is not None and view.base is base:
                tensor.forget_place()


class SharedByArguments(Storage):
    """The memory of one array that was passed as two differentiated arguments. Each has a gradient of its own, so a
    write, which changes both, is refused.
    """

    __slots__ = ()

    def before_write(self, snapshot: bool, place: Any = None) -> None:
        """Refuse."""
        raise AutogradError(
            "an array that was passed as two differentiated arguments is written: its gradient with respect to each "
            "would be undefined; pass a copy"
        )


def storage_of(tensor: Any) -> Storage:
    """The tensor's Storage, made now if it has none."""
    storage: Storage | None = tensor._storage
    if storage is None:
        storage = Storage()
        tensor._storage = storage
        storage.add_alias(tensor)
        if tensor._cell is not None:
            storage.add_cell(tensor._cell)
    return storage


def share(tensor: Any, other: Any) -> None:
    """Put `tensor`, whose memory is that of `other`, on the same Storage: writes through either are seen by both."""
    storage = storage_of(other)
    tensor._storage = storage
    storage.add_alias(tensor)


class _Memory:
    """What stands between an exported array and the memory: views of the array refer to it and no further."""

    __slots__ = ("__array_interface__", "array")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


def export(tensor: Any) -> np.ndarray[Any, Any]:
    """A plain array on the tensor's memory, remembered as long as it or a view of it is alive."""
    array = np.asarray(_Memory(tensor._array))
    storage = storage_of(tensor)
    if storage.cells:
        storage.before_write(snapshot=True)  # whoever has the array may write to it unseen
    exports = storage.exports
    exports[:] = [r for r in exports if r() is not None]
    exports.append(ref(array))
    return array


def is_exported(tensor: Any) -> bool:
    """Whether a plain array given away by `export` may still show the tensor's memory."""
    storage = tensor._storage
    return storage is not None and any(r() is not None for r in storage.exports)


def cell_of(tensor: Any) -> Cell:
    """The cell that stands for the tensor's present value, shared by all nodes that save it."""
    cell: Cell | None = tensor._cell
    if cell is None:
        if tensor._inference:
            raise AutogradError(_INFERENCE)
        storage = tensor._storage
        if storage is None:
            cell = Cell(tensor._value)
        else:
            value = tensor._value
            cell = Cell(value.copy() if storage.exports and is_exported(tensor) else value, storage.version)
            storage.add_cell(cell)
        tensor._cell = cell
    return cell
