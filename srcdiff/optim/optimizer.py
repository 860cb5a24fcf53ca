"""`Optimizer`: the base of all optimizers, with PyTorch's parameter groups, state and hooks.

A step writes parameters in place, outside the graph, through begin_write: a graph that has saved an old value and runs
backward later says so. State (momenta and the like) is kept as tensors of the parameter's dtype, scratch memory apart
from it."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from srcdiff.autograd.modes import enable_grad
from srcdiff.errors import ArgumentError, UnsupportedError
from srcdiff.nn.module import clear_grad
from srcdiff.replay.strict import silently
from srcdiff.tape.effects import effect
from srcdiff.tape.node import Handle
from srcdiff.tape.record import plain
from srcdiff.tape.value import TensorBase

Array = np.ndarray[Any, np.dtype[Any]]
Group = dict[str, Any]

REQUIRED = object()
_BETA = "beta parameter at index "


def _parameters(optimizer: Any) -> Iterator[Any]:
    """All parameters of an optimizer."""
    return (p for group in optimizer.param_groups for p in group["params"])


def _gradients(optimizer: Any) -> list[Any]:
    """Their gradients."""
    return [p._grad for p in _parameters(optimizer) if p._grad is not None]


def _moved(optimizer: Any) -> list[Any]:
    """What a step may change: parameters, the tensors of its state, and what hooks may."""
    hooks = optimizer._step_pre_hooks or optimizer._step_post_hooks
    state = (part for kept in optimizer.state.values() for part in kept.values() if isinstance(part, TensorBase))
    return [*_parameters(optimizer), *state, *(_gradients(optimizer) if hooks else ())]


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step with the hooks around it."""

    @effect(_moved)
    @functools.wraps(step)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        for hook in list(self._step_pre_hooks.values()):
            made = hook(self, args, kwargs)
            if made is not None:
                args, kwargs = made
        out = step(self, *args, **kwargs)
        self._opt_called = True
        for hook in list(self._step_post_hooks.values()):
            hook(self, args, kwargs)
        return out

    return run


class Optimizer:
    """Parameters in groups, each with its own options; subclasses write `step`.

    `params` is an iterable of parameters, of pairs (name, parameter), or of dictionaries with "params" and options.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, TensorBase):
            raise ArgumentError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                "torch.FloatTensor"
            )
        self.defaults = defaults
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        self._scratch: dict[int, tuple[Array, ...]] = {}
        self._step_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._step_post_hooks: OrderedDict[int, Any] = OrderedDict()
        self._opt_called = False
        groups = list(params)
        if not groups:
            raise ArgumentError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters, with options that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise ArgumentError(f"param_group must be a dict, but got {type(param_group)}")
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, set):
            raise ArgumentError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors "
                "in sets will "
                "change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, TensorBase) else list(params)
        if params and all(isinstance(p, tuple) for p in params):
            group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        known = {id(p) for other in self.param_groups for p in other["params"]}
        for p in params:
            if not isinstance(p, TensorBase):
                raise ArgumentError(f"optimizer can only optimize Tensors, but one of the params is {type(p)}")
            if not (p._requires or p._edge is None):
                raise ArgumentError("can't optimize a non-leaf Tensor")
            if id(p) in known:
                raise ArgumentError("some parameters appear in more than one parameter group")
        if len({id(p) for p in params}) != len(params):
            raise ArgumentError("optimizer contains a parameter group with duplicate parameters")
        group["params"] = params
        for name, default in self.defaults.items():
            if default is REQUIRED and name not in group:
                raise ArgumentError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        self.param_groups.append(group)

    @effect(_gradients, lambda optimizer, set_to_none=True: _parameters(optimizer) if set_to_none else ())
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                clear_grad(p, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move the parameters. `closure` computes the loss and its gradients anew, and its result is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        silently(self._move)
        return loss

    def _move(self) -> None:
        for group in self.param_groups:
            update = self._prepared(group)
            for p in group["params"]:
                grad = p._grad
                if grad is not None:
                    update(p, grad._array)

    def _prepared(self, group: Group) -> Callable[[Any, Array], None]:
        """The function that moves one parameter of the group, given its gradient."""
        raise UnsupportedError(f"{type(self).__name__} has no step")

    def _buffers(self, p: Any, count: int) -> tuple[Array, ...]:
        """Scratch arrays like a parameter, the same at each step."""
        made = self._scratch.get(id(p))
        value = p._array
        if made is None or len(made) < count or made[0].shape != value.shape or made[0].dtype != value.dtype:
            made = self._scratch[id(p)] = tuple(np.empty_like(value) for _ in range(count))
        return made

    # ------------------------------------------------------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """State and groups with parameters replaced by their numbers."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed = {name: value for name, value in group.items() if name != "params"}
            groups.append({**packed, "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(p)]: dict(values) for p, values in self.state.items() if id(p) in numbers}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over copies of what `state_dict` gave, for groups of the same sizes."""
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ArgumentError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved, self.param_groups, strict=True)):
            raise ArgumentError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params: dict[int, Any] = {}
        groups = []
        for old, new in zip(saved, self.param_groups, strict=True):
            params.update(zip(old["params"], new["params"], strict=True))
            options = {name: deepcopy(value) for name, value in old.items() if name != "params"}
            groups.append({**options, "params": new["params"]})
        self.state = defaultdict(dict)
        for number, values in state_dict["state"].items():
            p = params.get(number)
            self.state[number if p is None else p] = {name: _copied(value, name, p) for name, value in values.items()}
        self.param_groups = groups

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._scratch = {}
        self._step_pre_hooks = OrderedDict()
        self._step_post_hooks = OrderedDict()
        self._opt_called = False

    # ------------------------------------------------------------------------------------------------------------ hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` before each step; a pair that it returns takes the place of these."""
        return Handle(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return Handle(self._step_post_hooks, hook)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for k, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {k}"] if k else [f"Parameter Group {k}"]
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


Optimizer.step = _hooked(Optimizer.step)  # type: ignore[method-assign]


def _copied(value: Any, name: str, p: Any) -> Any:
    """A loaded piece of state: tensors but the step count get the parameter's dtype."""
    if not isinstance(value, TensorBase):
        return deepcopy(value)
    array = value._array
    if p is not None and name != "step" and array.dtype.kind == "f":
        return plain(array.astype(p._array.dtype))
    return plain(array.copy())


def checked(**options: tuple[Any, bool]) -> None:
    """ArgumentError for an option with a value that is refused: `checked(lr=(lr, lr >= 0))`."""
    names = {"lr": "learning rate", "eps": "epsilon value", "beta0": _BETA + "0", "beta1": _BETA + "1"}
    for name, (value, fine) in options.items():
        if not fine:
            raise ArgumentError(f"Invalid {names.get(name, f'{name} value')}: {value}")


def refuse_implementations(**options: Any) -> None:
    """Options that choose among PyTorch's implementations change nothing here, but these change meaning."""
    for name, value in options.items():
        if value:
            raise UnsupportedError(f"{name}={value!r} is not supported: steps are taken outside the graph")


def counted(state: dict[str, Any]) -> int:
    """Raise a state's step count by one; gives it."""
    step = state["step"]
    array = step._array
    array += 1
    return int(array)


def begin(state: dict[str, Any], p: Any, **values: float) -> None:
    """Give the state of a parameter a step count of 0 and tensors like the parameter, filled with these values. A step
    that is interrupted leaves it whole or empty.
    """
    step = plain(np.zeros((), np.float32))
    state.update(step=step, **{name: plain(np.full_like(p._array, value)) for name, value in values.items()})
