"""`Hooks`: functions that run before, after and behind a Module's forward.

A module without hooks pays one attribute read a call (`_hooked`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcdiff.errors import ModuleError
from srcdiff.ops.layers import identities
from srcdiff.replay.active import active
from srcdiff.replay.clone import rec
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Handle
from srcdiff.tape.value import TensorBase

Hook = Callable[..., Any]


class HookTable(dict[int, Any]):
    """Hooks by number, in the order in which they run."""

    def prepend(self, key: int) -> None:
        """Make the hook of that number the first."""
        last = self.pop(key)
        others = list(self.items())
        self.clear()
        self[key] = last
        self.update(others)


class Hooks:
    """Registering hooks; each `register_...` gives a handle whose `remove()` takes the hook off again."""

    _hooked = False
    _forward_hooks: HookTable
    _forward_pre_hooks: HookTable
    _backward_hooks: HookTable
    _backward_pre_hooks: HookTable

    def _register(self, table: str, entry: Any, prepend: bool) -> Handle:
        if not self._hooked:
            self.__dict__.update(
                _hooked=True, _forward_hooks=HookTable(), _forward_pre_hooks=HookTable(), _backward_hooks=HookTable(),
                _backward_pre_hooks=HookTable(),
            )  # fmt: skip
        hooks: HookTable = getattr(self, table)
        handle = Handle(hooks, entry)
        if prepend:
            hooks.prepend(handle.id)
        return handle

    def register_forward_pre_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False) -> Handle:
        """Call `hook(module, args)` before forward (`with_kwargs`: `hook(module, args, kwargs)`); what it returns, if
        not None, takes the place of the arguments (of both, as a pair)."""
        return self._register("_forward_pre_hooks", (hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> Handle:
        """Call `hook(module, args, output)` after forward (`with_kwargs`: `hook(module, args, kwargs, output)`); what
        it returns, if not None, takes the place of the output. `always_call`: also if forward raised, with output
        None."""
        return self._register("_forward_hooks", (hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> Handle:
        """Call `hook(module, grad_input, grad_output)` when backward has passed the module; a returned tuple takes the
        place of grad_input."""
        return self._register("_backward_hooks", hook, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> Handle:
        """Call `hook(module, grad_output)` when backward arrives at the module; a returned tuple takes its place."""
        return self._register("_backward_pre_hooks", hook, prepend)


def call_hooked(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The module's forward with its hooks around it."""
    for hook, with_kwargs in list(module._forward_pre_hooks.values()):
        if with_kwargs:
            made = hook(module, args, kwargs)
            if made is not None:
                if not (isinstance(made, tuple) and len(made) == 2):
                    raise ModuleError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {made}."
                    )
                args, kwargs = made
        else:
            made = hook(module, args)
            if made is not None:
                args = made if isinstance(made, tuple) else (made,)
    watcher = _Backward(module) if modes.grad and (module._backward_hooks or module._backward_pre_hooks) else None
    if watcher is not None:
        args = watcher.inputs(args)
    try:
        forward = rec(module.forward) if active.depth else module.forward
        output = forward(*args, **kwargs)
        output = _after(module, args, kwargs, output, list(module._forward_hooks.values()))
    except Exception:
        for hook, with_kwargs, always in list(module._forward_hooks.values()):
            if always:
                hook(module, args, kwargs, None) if with_kwargs else hook(module, args, None)
        raise
    return output if watcher is None else watcher.outputs(output)


def _after(module: Any, args: Any, kwargs: Any, output: Any, hooks: list[Any]) -> Any:
    for hook, with_kwargs, _ in hooks:
        made = hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)
        if made is not None:
            output = made
    return output


class _Backward:
    """One call of a module with backward hooks: its inputs and outputs pass through nodes that call them."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.grad_output: Any = None
        self.waits = False

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        made, node, places = _through(args)
        if node is not None:
            self.waits = True

            def arrived(grad_inputs: tuple[Any, ...], _: Any) -> Any:
                full = [None] * sum(isinstance(a, TensorBase) for a in args)
                for place, grad in zip(places, grad_inputs, strict=True):
                    full[place] = grad
                result = self._call(tuple(full))
                return None if result is None else tuple(result[place] for place in places)

            node.register_hook(arrived)
        return made

    def outputs(self, output: Any) -> Any:
        parts = output if isinstance(output, tuple) else (output,)
        made, node, places = _through(parts)
        if node is None:
            return output

        def passing(grads: tuple[Any, ...]) -> Any:
            full: list[Any] = [None] * sum(isinstance(p, TensorBase) for p in parts)
            for place, grad in zip(places, grads, strict=True):
                full[place] = grad
            self.grad_output = tuple(full)
            for hook in list(self.module._backward_pre_hooks.values()):
                result = hook(self.module, self.grad_output)
                if result is not None:
                    self.grad_output = result if isinstance(result, tuple) else (result,)
            if not self.waits:
                self._call((None,))
            return tuple(self.grad_output[place] for place in places)

        node.register_prehook(passing)
        return made if isinstance(output, tuple) else made[0]

    def _call(self, grad_input: tuple[Any, ...]) -> Any:
        changed = None
        for hook in list(self.module._backward_hooks.values()):
            made = hook(self.module, grad_input, self.grad_output)
            if made is not None:
                changed = grad_input = made if isinstance(made, tuple) else (made,)
        return changed


def _through(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, list[int]]:
    """The values with all tensors that need gradients passed through one node; the node, and their numbers among
    tensors."""
    tensors = [v for v in values if isinstance(v, TensorBase)]
    places = [k for k, t in enumerate(tensors) if t._edge is not None]
    if not places:
        return values, None, places
    made = identities(*(tensors[k] for k in places))
    replaced = dict(zip((id(tensors[k]) for k in places), made, strict=True))
    return tuple(replaced.get(id(v), v) for v in values), made[0].grad_fn, places
