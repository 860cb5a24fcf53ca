"""`State`: a Module's parameters and persistent buffers as a dictionary, and back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from srcdiff.errors import ModuleError
from srcdiff.nn.parameter import Parameter
from srcdiff.nn.tree import Tree
from srcdiff.size import Size
from srcdiff.tape.node import Handle
from srcdiff.tape.overwrite import overwrite
from srcdiff.tape.value import TensorBase

_EXTRA = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class IncompatibleKeys(_Keys):
    """What `load_state_dict` found missing and left over."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class State(Tree):
    """`state_dict` and `load_state_dict`."""

    _non_persistent_buffers_set: set[str]
    _load_hooks: dict[int, Callable[..., Any]] | None = None

    def get_extra_state(self) -> Any:
        """To be overridden along with `set_extra_state`: more to be kept in the state_dict."""
        raise NotImplementedError

    def set_extra_state(self, state: Any) -> None:
        """To be overridden: takes what `get_extra_state` gave."""
        raise NotImplementedError

    def _has_extra_state(self) -> bool:
        return type(self).get_extra_state is not State.get_extra_state

    def _persistent(self) -> dict[str, Any]:
        """What of this module itself belongs into its state."""
        kept = {name: p for name, p in self._parameters.items() if p is not None}
        transient = self._non_persistent_buffers_set
        kept.update((name, b) for name, b in self._buffers.items() if b is not None and name not in transient)
        return kept

    # ----------------------------------------------------------------------------------------------------------- saving

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by dotted name: detached tensors on their memory (`keep_vars`:
        themselves)."""
        for name, value in zip(("destination", "prefix", "keep_vars"), args, strict=False):
            destination = value if name == "destination" else destination
            prefix = value if name == "prefix" else prefix
            keep_vars = value if name == "keep_vars" else keep_vars
        if destination is None:
            destination = OrderedDict()
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """This module's own part of `state_dict`; subclasses may add to it."""
        for name, tensor in self._persistent().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._has_extra_state():
            destination[prefix + _EXTRA] = self.get_extra_state()

    # ---------------------------------------------------------------------------------------------------------- loading

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy a state into the parameters and buffers (`assign`: put its tensors in their place).

        Raises ModuleError (a RuntimeError) for shapes that differ and, if `strict`, for keys missing or left over.
        """
        if not isinstance(state_dict, Mapping):
            raise ModuleError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        self._load_part(dict(state_dict), "", {"assign": assign}, missing, unexpected, errors)
        result = IncompatibleKeys(missing, unexpected)
        for module in self.modules():
            for hook in list((module._load_hooks or {}).values()):
                hook(module, result)
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_listed(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_listed(missing)}. ")
        if errors:
            text = "\n\t".join(errors)
            raise ModuleError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
        return result

    def _load_part(
        self, state: dict[str, Any], prefix: str, metadata: dict[str, Any], missing: list[str], unexpected: list[str],
        errors: list[str],
    ) -> None:  # fmt: skip
        self._load_from_state_dict(state, prefix, metadata, True, missing, unexpected, errors)
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}{name}."
                part = {key: value for key, value in state.items() if key.startswith(inner)}
                module._load_part(part, inner, metadata, missing, unexpected, errors)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Load this module's own part; subclasses may change it. Appends to the three lists what is wrong."""
        own = self._persistent()
        for name, tensor in own.items():
            key = prefix + name
            if key not in state_dict:
                missing_keys.append(key)
                continue
            error = self._load_tensor(name, tensor, key, state_dict[key], bool(local_metadata.get("assign")))
            if error:
                error_msgs.append(error)
        if self._has_extra_state():
            if prefix + _EXTRA in state_dict:
                self.set_extra_state(state_dict[prefix + _EXTRA])
            else:
                missing_keys.append(prefix + _EXTRA)
        known = {*own, *self._modules, *([_EXTRA] if self._has_extra_state() else [])}
        for key in state_dict:
            first, _, rest = key[len(prefix) :].partition(".")
            if key.startswith(prefix) and (first not in known or (rest and first not in self._modules)):
                unexpected_keys.append(key)

    def _load_tensor(self, name: str, tensor: Any, key: str, value: Any, assign: bool) -> str:
        """Load one tensor; gives the error text, or nothing."""
        if not isinstance(value, TensorBase):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                "checkpoint "
                f"but received {type(value)}"
            )
        if value._value.shape != tensor._value.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {Size(value._value.shape)!r} from checkpoint, "
                f"the shape in current model is {Size(tensor._value.shape)!r}."
            )
        if not assign:
            overwrite(tensor, value._array)
        elif name in self._parameters:
            self._parameters[name] = value if isinstance(value, Parameter) else Parameter(value, tensor.requires_grad)
        else:
            self._buffers[name] = value
        return ""

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(module, incompatible_keys)` after `load_state_dict`; it may change the lists of keys."""
        if self._load_hooks is None:
            self._load_hooks = {}
        return Handle(self._load_hooks, hook)


def _listed(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
