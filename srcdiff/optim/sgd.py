"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from srcdiff.errors import ArgumentError
from srcdiff.optim.optimizer import Array, Group, Optimizer, checked, refuse_implementations
from srcdiff.tape.overwrite import begin_write
from srcdiff.tape.record import plain


class SGD(Optimizer):
    """p -= lr * d, where d is the gradient g, or with momentum the running sum b = momentum * b + (1 - dampening) * g
    (first b = g), or with Nesterov's g + momentum * b. `weight_decay` adds weight_decay * p to g; `maximize` flips g.
    """

    def __init__(
        self, params: Iterable[Any], lr: Any = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
        nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        checked(lr=(lr, lr >= 0), momentum=(momentum, momentum >= 0), weight_decay=(weight_decay, weight_decay >= 0))
        refuse_implementations(differentiable=differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _prepared(self, group: Group) -> Callable[[Any, Array], None]:
        lr, momentum, decay = float(group["lr"]), group["momentum"], group["weight_decay"]
        damped, nesterov, maximize = 1 - group["dampening"], group["nesterov"], group["maximize"]
        multiply, add, subtract = np.multiply, np.add, np.subtract

        def update(p: Any, grad: Array) -> None:
            (scratch,) = self._buffers(p, 1)
            value = begin_write(p)
            if maximize:
                grad = np.negative(grad)
            if decay:
                multiply(value, decay, out=scratch)
                grad = add(scratch, grad, out=scratch)
            if momentum:
                state = self.state[p]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    running = grad.copy()
                    state["momentum_buffer"] = plain(running)
                else:
                    running = buffer._array
                    multiply(running, momentum, out=running)
                    add(running, grad if damped == 1 else damped * grad, out=running)
                grad = add(grad, momentum * running, out=scratch) if nesterov else running
            multiply(grad, lr, out=scratch)
            subtract(value, scratch, out=value)

        return update
