"""Modules that hold others: `Sequential`, `ModuleList`, `ModuleDict`."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from srcdiff.errors import ModuleError, OutOfBoundsError
from srcdiff.nn.module import Module


def position(index: Any, length: int) -> int:
    k = operator.index(index)
    if not -length <= k < length:
        raise OutOfBoundsError(f"index {k} is out of range")
    return k % length


class _Numbered(Module):
    """Modules named 0, 1, 2 ... that can be indexed, sliced, replaced, inserted and deleted."""

    def _fill(self, modules: Iterable[Any]) -> None:
        self._modules.clear()
        for k, module in enumerate(modules):
            self.add_module(str(k), module)

    def _key(self, index: Any) -> str:
        return list(self._modules)[position(index, len(self._modules))]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._of(list(self._modules.items())[index])
        return self._modules[self._key(index)]

    def _of(self, items: list[tuple[str, Any]]) -> Any:
        return type(self)([module for _, module in items])  # type: ignore[call-arg]

    def __setitem__(self, index: Any, module: Any) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: Any) -> None:
        removed = set(list(self._modules)[index] if isinstance(index, slice) else [self._key(index)])
        self._fill([module for key, module in self._modules.items() if key not in removed])

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, module: Any) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Any) -> Any:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise ModuleError(
                f"{self._get_name()}.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Any) -> Any:
        """Put a module before the one at `index`."""
        items = list(self._modules.values())
        if not -len(items) <= index <= len(items):
            raise OutOfBoundsError(f"Index out of range: {index}")
        items.insert(index, module)
        self._fill(items)
        return self

    def pop(self, index: Any = -1) -> Any:
        """Take out a module."""
        module = self[index]
        del self[index]
        return module


class Sequential(_Numbered):
    """Each module applied to the result of the one before. Takes modules, or one dictionary of named modules."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self._fill(args)

    def _of(self, items: list[tuple[str, Any]]) -> Any:
        return type(self)(dict(items))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Sequential):
            raise ModuleError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def forward(self, input: Any) -> Any:
        """The last module's result."""
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Numbered):
    """A list of modules."""

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self._fill(modules)

    def __add__(self, other: Iterable[Any]) -> Any:
        return ModuleList(chain(self, other))

    def __iadd__(self, other: Iterable[Any]) -> Any:
        return self.extend(other)

    def __repr__(self) -> str:
        """Equal modules in a row are shown once, with how many there are."""
        groups: list[tuple[str, int, int]] = []
        for k, text in enumerate(map(repr, self)):
            if groups and groups[-1][0] == text:
                groups[-1] = (text, groups[-1][1], k)
            else:
                groups.append((text, k, k))
        if not groups:
            return f"{self._get_name()}()"
        lines = [
            f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for text, a, b in groups
        ]  # fmt: skip
        return f"{self._get_name()}(\n  " + "\n  ".join(line.replace("\n", "\n  ") for line in lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules, in the order of insertion."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take out a module."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules of a mapping or of pairs."""
        for key, module in modules.items() if hasattr(modules, "items") else modules:
            self[key] = module
