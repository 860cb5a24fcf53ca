"""`functional_call`, `stack_module_state`: modules as functions of their parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from srcdiff.errors import ArgumentError, AutogradError
from srcdiff.tape.record import plain


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with the named parameters and buffers replaced for this call by those of a dict, or
    several.

    `args` that is no tuple is the only argument. With `tie_weights` a tensor that the module has under several names is
    replaced under all of them. With `strict` the names must be those of all parameters and buffers.
    """
    named = _merged(parameter_and_buffer_dicts)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(module, named, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def _merged(dicts: Any) -> dict[str, Any]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence) or not all(isinstance(each, Mapping) for each in dicts):
        raise ArgumentError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            + type(dicts).__name__
        )
    names = [name for each in dicts for name in each]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ArgumentError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: value for each in dicts for name, value in each.items()}


def _places(module: Any) -> dict[str, tuple[dict[str, Any], str]]:
    """Where each parameter and buffer is held, by its full name; one that has several names under each."""
    return {
        (f"{prefix}." if prefix else "") + name: (table, name)
        for prefix, part in module.named_modules(remove_duplicate=False)
        for table in (part._parameters, part._buffers)
        for name, value in table.items()
        if value is not None
    }


@contextmanager
def replaced(module: Any, named: Mapping[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    """Within the block the module has other parameters and buffers. A buffer it assigns in the block is assigned in
    `named`, if that is a dict, as in PyTorch."""
    places = _places(module)
    if strict:
        _check_names(module, named, places)
    values = {name: value for name, value in named.items() if name in places}
    if tie_weights:
        _tie(values, places)
    before = [(table, key, table[key]) for table, key in (places[name] for name in values)]
    try:
        for name, value in values.items():
            table, key = places[name]
            table[key] = value
        yield
    finally:
        for table, key, value in before:
            table[key] = value


def _check_names(module: Any, named: Mapping[str, Any], places: Mapping[str, Any]) -> None:
    unexpected = sorted(set(named) - set(places))
    missing = sorted(set(places) - set(named))
    parts = [
        f"\n\t{kind} key(s): {', '.join(repr(name) for name in names)}."
        for kind, names in (("Unexpected", unexpected), ("Missing", missing))
        if names
    ]
    if parts:
        raise AutogradError(f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(parts)}")


def _tie(values: dict[str, Any], places: Mapping[str, tuple[dict[str, Any], str]]) -> None:
    """Add the other names of tensors that are replaced under one of theirs."""
    names: dict[int, list[str]] = {}
    for name, (table, key) in places.items():
        names.setdefault(id(table[key]), []).append(name)
    for name, value in list(values.items()):
        table, key = places[name]
        others = names[id(table[key])]
        if any(other in values and values[other] is not value for other in others):
            raise ArgumentError(
                f"functional_call got multiple values for keys {sorted(others)}, which are tied. Consider "
                f"tie_weights=False"
            )
        values |= dict.fromkeys(others, value)


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several modules of one class, each stacked along a new first axis;
    parameters that require grad give leaves that do. For `vmap` over models with `functional_call`."""
    models = list(models)
    if not models:
        raise AutogradError("stack_module_state: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or not any(model.training for model in models)):
        raise AutogradError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise AutogradError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return {name: _stacked([each[name] for each in parameters]) for name in parameters[0]}, {
        name: _stacked([each[name] for each in buffers]) for name in buffers[0]
    }


def _stacked(tensors: list[Any]) -> Any:
    needs = {tensor._edge is not None for tensor in tensors}
    if len(needs) > 1:
        raise AutogradError("Expected parameters from different models to have the same requires_grad")
    made = plain(np.stack([tensor._array for tensor in tensors]))
    if needs.pop():
        made._requires = True
        made.forget_place()
    return made
