"""Copies and pickles of Tensors: value, whether it requires grad, `.grad`, and what users have set as attributes."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.errors import AutogradError, GradientLostError
from srcdiff.inplace.memory import address, owner, part
from srcdiff.origin import where
from srcdiff.tape.modes import modes
from srcdiff.tape.site import user_place
from srcdiff.tape.value import TensorBase

_NON_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
    "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
    "https://github.com/pytorch/pytorch/pull/103001"
)
#: what a copy works out for itself, or must not have
_STATE = frozenset({"_value", "_type", "_storage", "_cell", "_view", "_traced", "_grad", "_detached", "_requires"})


class Copying(TensorBase):
    """`copy.copy`, `copy.deepcopy` and pickling. Copies of values under differentiation are differentiated."""

    def __copy__(self) -> Any:
        """Another Tensor on the same memory; of a value under differentiation a copy, which is what arrays give."""
        if self._traced:
            return REGISTRY["copy"](self)
        make, *rest = self.__reduce_ex__(4)
        return make(*rest[0])

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A leaf on memory of its own. Tensors that share memory share it in the copy, if they are copied together."""
        found = memo.get(id(self))
        if found is not None:
            return found
        if self._traced:
            memo[id(self)] = made = REGISTRY["copy"](self)
            return made
        if self._edge is not None and not self._requires:
            raise AutogradError(_NON_LEAF)
        out = rebuild(type(self), copied_array(self._value, memo), self._requires, {})
        memo[id(self)] = out
        if self._grad is not None:
            out._grad = copy.deepcopy(self._grad, memo)
        out.__dict__.update(copy.deepcopy(self._attributes(), memo))
        return out

    def _attributes(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _STATE}

    def __reduce_ex__(self, protocol: Any) -> Any:
        if modes.recorder is not None:
            modes.recorder.fail("pickling makes plain data of a value that changes from call to call")
        if self._traced and self._edge is not None and modes.grad:
            raise GradientLostError(
                f"pickling a value under differentiation would lose the gradient, at {where(*user_place(3))}: pickle "
                "sd.detach(x) if no derivative is wanted"
            )
        return (rebuild, (type(self), self._value, self._edge is not None, self._attributes()))


def rebuild(cls: type[TensorBase], value: Any, requires_grad: bool, attributes: dict[str, Any]) -> Any:
    """A Tensor from what was pickled."""
    out = object.__new__(cls)
    out._value = value
    if requires_grad:
        out._requires = True
    else:
        out._edge = None
    out.__dict__.update(attributes)
    return out


def copied_array(value: Any, memo: dict[int, Any]) -> Any:
    """A copy of an array; arrays that are parts of one memory stay so within one `memo`."""
    if not isinstance(value, np.ndarray):
        return value
    memory = owner(value)
    if memory is None:
        return value.copy(order="K")
    made = memo.get(id(memory))
    if made is None:
        made = memo[id(memory)] = memory.copy(order="K")
        memo.setdefault(id(memo), []).append(memory)  # `copy` keeps what is in the memo alive this way
    return made if value is memory else part(made, value, address(value) - address(memory))
