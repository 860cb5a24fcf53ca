"""The proof that a call may be replayed, for the arguments it was given."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from srcdiff.api.tree import flatten
from srcdiff.config import config
from srcdiff.replay.clone import cloned
from srcdiff.replay.containers import DICTS
from srcdiff.replay.findings import Findings, RefusedError
from srcdiff.replay.fixed import is_fixed
from srcdiff.replay.objects import is_owner
from srcdiff.replay.purity import examine
from srcdiff.replay.records import fields_of


def prove(function: Any, args: Sequence[Any], kwargs: dict[str, Any], chosen: Sequence[Any]) -> Findings:
    """What a function reads from outside. Raises RefusedError if it is not proved pure when called with such
    arguments.
    """
    static = _statics(args) + _statics(kwargs.values())
    findings = examine(*_with_self(function), static)
    if findings.stored and any(map(dataclasses.is_dataclass, static)):
        raise RefusedError("its methods store into `self`, and it was given a dataclass")
    others = [value for key, value in (*enumerate(args), *kwargs.items()) if key not in chosen]
    arrays = any(isinstance(leaf, (np.generic, np.ndarray)) for leaf in flatten(others)[0])
    if findings.asks and arrays and not (config.options.clone and all(cloned(f) is not f for f in findings.asks)):
        raise RefusedError("it calls isinstance, was given arrays that are not differentiated, and has no source")
    return findings


def prove_step(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Findings:
    """The same for a training step, whose effects may be srcdiff's."""
    static = _statics(args) + _statics(kwargs.values())
    findings = examine(*_with_self(function), static, step=True)
    records = [each for each in static if dataclasses.is_dataclass(each)]
    if any(findings.stored or findings.sets.intersection(vars(each)["__dataclass_fields__"]) for each in records):
        raise RefusedError("it stores attributes, and was given a dataclass that has them")
    if findings.stores and any(_has_mutable(value) for value in (*args, *kwargs.values())):
        raise RefusedError("it stores into containers, and was given some")
    if findings.asks:
        raise RefusedError("it calls isinstance")
    return findings


def _with_self(function: Any) -> tuple[Any, Any]:
    """What a call runs, and what it is bound to."""
    if type(function) is MethodType and type(function.__func__) is FunctionType:
        return function.__func__, function.__self__
    return function, None


def _statics(values: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = ()
    for value in values:
        if type(value) in (list, tuple):
            found += _statics(value)
        elif type(value) in DICTS:
            found += _statics(value.values())
        elif is_fixed(value) or is_owner(value):
            found += (value,)
        elif (names := fields_of(value)) is not None:
            found += (type(value), *_statics([getattr(value, name) for name in names]))
    return found


def _has_mutable(value: Any) -> bool:
    return isinstance(value, (list, dict)) or (isinstance(value, tuple) and any(map(_has_mutable, value)))
