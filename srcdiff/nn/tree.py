"""`Tree`: what a Module consists of, walked depth first in the order of registration; shared parts are given once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from srcdiff.errors import ModuleError

T = TypeVar("T", bound="Tree")


class Tree:
    """Traversal of modules, parameters and buffers."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    # ---------------------------------------------------------------------------------------------------------- modules

    def children(self) -> Iterator[Any]:
        """The modules that are attributes of this one."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The same, with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self) -> Iterator[Any]:
        """This module and all inside it."""
        for _, module in self.named_modules():
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The same, with their dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def apply(self: T, fn: Callable[[Any], Any]) -> T:
        """Call `fn` on every module inside this one, innermost first, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ------------------------------------------------------------------------------------------- parameters and buffers

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """All parameters, or only this module's own."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The same, with their dotted names."""
        yield from self._members("_parameters", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """All buffers, or only this module's own."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The same, with their dotted names."""
        yield from self._members("_buffers", prefix, recurse, remove_duplicate)

    def _members(self, table: str, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=once) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in getattr(module, table).items():
                if member is None or id(member) in seen:
                    continue
                if once:
                    seen.add(id(member))
                yield f"{path}.{name}" if path else name, member

    # --------------------------------------------------------------------------------------------------- by dotted name

    def get_submodule(self, target: str) -> Any:
        """The module of a dotted name; "" is this one."""
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise ModuleError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Tree):
                raise ModuleError(f"`{name}` is not an nn.Module")
        return module

    def get_parameter(self, target: str) -> Any:
        """The parameter of a dotted name."""
        return self._get_member(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target: str) -> Any:
        """The buffer of a dotted name."""
        return self._get_member(target, "_buffers", "a buffer")

    def _get_member(self, target: str, table: str, kind: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise ModuleError(f"{module._get_name()} has no attribute `{name}`")
        if name not in getattr(module, table):
            raise ModuleError(f"`{name}` is not {kind}")
        return getattr(module, name)
