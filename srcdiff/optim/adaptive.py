"""RMSprop (Hinton 2012), with the centred form of Graves 2013, and Adagrad (Duchi et al. 2011)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from srcdiff.optim.optimizer import Array, Group, Optimizer, begin, checked, counted, refuse_implementations
from srcdiff.tape.overwrite import begin_write


class RMSprop(Optimizer):
    """p -= lr * g / (sqrt(v) + eps), where v is a running mean of g * g with rate 1 - alpha, less the square of the
    running mean of g if `centered`; with momentum the quotients are summed as in SGD."""

    def __init__(
        self, params: Iterable[Any], lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
        momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        checked(
            lr=(lr, lr >= 0), eps=(eps, eps >= 0), momentum=(momentum, momentum >= 0),
            weight_decay=(weight_decay, weight_decay >= 0), alpha=(alpha, alpha >= 0),
        )  # fmt: skip
        refuse_implementations(differentiable=differentiable)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _prepared(self, group: Group) -> Callable[[Any, Array], None]:
        lr, alpha, eps, momentum = float(group["lr"]), group["alpha"], group["eps"], group["momentum"]
        decay, centered, maximize = group["weight_decay"], group["centered"], group["maximize"]
        multiply, add = np.multiply, np.add

        def update(p: Any, grad: Array) -> None:
            state = self.state[p]
            if not state:
                others = {"momentum_buffer": momentum > 0, "grad_avg": centered}
                begin(state, p, square_avg=0, **{name: 0 for name, wanted in others.items() if wanted})
            counted(state)
            first, second = self._buffers(p, 2)
            value = begin_write(p)
            if maximize:
                grad = np.negative(grad)
            if decay:
                multiply(value, decay, out=first)
                grad = add(first, grad, out=first)
            v = state["square_avg"]._array
            multiply(v, alpha, out=v)
            multiply(grad, grad, out=second)
            multiply(second, 1 - alpha, out=second)
            add(v, second, out=v)
            if centered:
                average = state["grad_avg"]._array
                average += (1 - alpha) * (grad - average)
                np.sqrt(v - average * average, out=second)
            else:
                np.sqrt(v, out=second)
            add(second, eps, out=second)
            np.divide(grad, second, out=second)
            if momentum > 0:
                buffer = state["momentum_buffer"]._array
                multiply(buffer, momentum, out=buffer)
                add(buffer, second, out=buffer)
                multiply(buffer, lr, out=second)
            else:
                multiply(second, lr, out=second)
            np.subtract(value, second, out=value)

        return update


class Adagrad(Optimizer):
    """p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps), where s is the sum of all g * g so far."""

    def __init__(
        self, params: Iterable[Any], lr: Any = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False,
        differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        start = initial_accumulator_value
        checked(
            lr=(lr, lr >= 0), lr_decay=(lr_decay, lr_decay >= 0), weight_decay=(weight_decay, weight_decay >= 0),
            initial_accumulator_value=(start, start >= 0), eps=(eps, eps >= 0),
        )  # fmt: skip
        refuse_implementations(differentiable=differentiable)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": start,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                self._start(p, group)

    def _start(self, p: Any, group: Group) -> dict[str, Any]:
        state = self.state[p]
        begin(state, p, sum=group["initial_accumulator_value"])
        return state

    def _prepared(self, group: Group) -> Callable[[Any, Array], None]:
        lr, lr_decay, eps = float(group["lr"]), group["lr_decay"], group["eps"]
        decay, maximize = group["weight_decay"], group["maximize"]
        multiply, add = np.multiply, np.add

        def update(p: Any, grad: Array) -> None:
            state = self.state[p] or self._start(p, group)
            step = counted(state)
            first, second = self._buffers(p, 2)
            value = begin_write(p)
            if maximize:
                grad = np.negative(grad)
            if decay:
                multiply(value, decay, out=first)
                grad = add(first, grad, out=first)
            total = state["sum"]._array
            multiply(grad, grad, out=second)
            add(total, second, out=total)
            np.sqrt(total, out=second)
            add(second, eps, out=second)
            np.divide(grad, second, out=second)
            multiply(second, lr / (1 + (step - 1) * lr_decay), out=second)
            np.subtract(value, second, out=value)

        return update
