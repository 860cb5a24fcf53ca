"""The arguments of a watched call of a step as the function gets them, and its result as the caller gets it.

Others stand for arrays (`standin`), and share their memory. Containers with arrays inside are made anew for the call;
in the result they are the caller's again.
"""

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np

from srcdiff.api.standin import StandIn
from srcdiff.api.tree import built, is_container, parts_of
from srcdiff.replay.allowed import SCALAR_TYPES
from srcdiff.replay.containers import DICTS
from srcdiff.replay.inputs import Inputs
from srcdiff.replay.records import fields_of, maker
from srcdiff.replay.steps import StepRecorder
from srcdiff.tape import record
from srcdiff.tape.value import TensorBase


class Given:
    """The arguments of one call, which `recorder` watches."""

    def __init__(self, recorder: StepRecorder, inputs: Inputs) -> None:
        self._recorder = recorder
        self._inputs = inputs
        #: id of a container made for the call -> it, and the caller's
        self._made: dict[int, tuple[Any, Any]] = {}
        #: the dataclasses among the arguments, and those made for the call
        self.records: list[Any] = []

    def inside(self, value: Any, name: str, path: tuple[Any, ...]) -> Any:
        """An argument, or a part of one, as the function gets it."""
        kind = type(value)
        number = self._inputs.argument(path, value)
        if number is not None:
            return number
        if isinstance(value, TensorBase):
            self._recorder.input(value, name)
            self._recorder.given_tensors.append(value)
            return value
        if kind is np.ndarray or kind in SCALAR_TYPES:
            tensor = record.plain(value)
            tensor.__class__ = StandIn
            self._recorder.stands = True
            self._recorder.input(tensor, name)
            return tensor
        if kind in (list, tuple):
            parts = [self.inside(part, f"{name}_{k}", (*path, k)) for k, part in enumerate(value)]
            return value if all(map(is_, parts, value)) else self._instead(value, kind(parts))
        if kind in DICTS:
            named = {key: self.inside(part, f"{name}_{key}", (*path, key)) for key, part in value.items()}
            return value if all(map(is_, named.values(), value.values())) else self._instead(value, kind(named))
        fields = fields_of(value)
        if fields is None:
            return value
        old = [getattr(value, field) for field in fields]
        parts = [self.inside(part, f"{name}_{field}", (*path, field)) for part, field in zip(old, fields, strict=True)]
        made = value if all(map(is_, parts, old)) else self._instead(value, maker(kind)(*parts))
        if not isinstance(value, tuple):
            self.records += [value, made]
        return made

    def _instead(self, value: Any, made: Any) -> Any:
        self._made[id(made)] = (made, value)
        return made

    def outside(self, result: Any) -> Any:
        """What the function returned, as the caller gets it."""
        known = self._made.get(id(result))
        if known is not None:
            return known[1]
        if isinstance(result, TensorBase):
            return result._value if result._stands else result
        if not is_container(result):
            return result
        parts = parts_of(result)
        made = [self.outside(part) for part in parts]
        return result if all(map(is_, made, parts)) else built(result, made)


def containers(value: Any) -> set[int]:
    """The ids of the lists, dicts and dataclasses in a value, and of itself."""
    if not is_container(value):
        return set()
    found = set() if value is None or isinstance(value, tuple) else {id(value)}
    return found.union(*map(containers, parts_of(value)))
