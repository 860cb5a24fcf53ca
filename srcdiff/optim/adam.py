"""Adam (Kingma and Ba 2015), with AMSGrad (Reddi et al. 2018), and AdamW (Loshchilov and Hutter 2019)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from srcdiff.optim.optimizer import Array, Group, Optimizer, begin, checked, counted, refuse_implementations
from srcdiff.tape.overwrite import begin_write


class Adam(Optimizer):
    """p -= lr * m' / (sqrt(v') + eps), where m and v are running means of g and g * g with rates 1 - beta1 and 1 -
    beta2, and m' and v' are these divided by 1 - beta1**t and 1 - beta2**t. With `amsgrad` v is the largest so far.

    `weight_decay` adds weight_decay * p to g, or if `decoupled_weight_decay` shrinks p by lr * weight_decay instead.
    """

    _decoupled = False

    def __init__(
        self, params: Iterable[Any], lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        checked(lr=(lr, lr >= 0), eps=(eps, eps >= 0), weight_decay=(weight_decay, weight_decay >= 0))
        checked(beta0=(betas[0], 0 <= betas[0] < 1), beta1=(betas[1], 0 <= betas[1] < 1))
        refuse_implementations(differentiable=differentiable)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay or self._decoupled,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _prepared(self, group: Group) -> Callable[[Any, Array], None]:
        lr, (beta1, beta2), eps = float(group["lr"]), group["betas"], group["eps"]
        decay, decoupled = group["weight_decay"], group.get("decoupled_weight_decay", False)
        amsgrad, maximize = group["amsgrad"], group["maximize"]
        multiply, add, subtract = np.multiply, np.add, np.subtract
        divide, sqrt = np.divide, np.sqrt

        def update(p: Any, grad: Array) -> None:
            state = self.state[p]
            if not state:
                begin(state, p, exp_avg=0, exp_avg_sq=0, **({"max_exp_avg_sq": 0} if amsgrad else {}))
            step = counted(state)
            first, second = self._buffers(p, 2)
            m, v = state["exp_avg"]._array, state["exp_avg_sq"]._array
            value = begin_write(p)
            if maximize:
                grad = np.negative(grad)
            if decay:
                if decoupled:
                    multiply(value, 1 - lr * decay, out=value)
                else:
                    multiply(value, decay, out=first)
                    grad = add(first, grad, out=first)
            # m += (1 - beta1) * (g - m)
            subtract(grad, m, out=second)
            multiply(second, 1 - beta1, out=second)
            add(m, second, out=m)
            # v = beta2 * v + (1 - beta2) * g * g
            multiply(grad, grad, out=second)
            multiply(second, 1 - beta2, out=second)
            multiply(v, beta2, out=v)
            add(v, second, out=v)
            if amsgrad:
                largest = state["max_exp_avg_sq"]._array
                np.maximum(largest, v, out=largest)
                v = largest
            sqrt(v, out=second)
            divide(second, math.sqrt(1 - beta2**step), out=second)
            add(second, eps, out=second)
            divide(m, second, out=second)
            multiply(second, lr / (1 - beta1**step), out=second)
            subtract(value, second, out=value)

        return update


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters apart from the gradient."""

    _decoupled = True

    def __init__(
        self, params: Iterable[Any], lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused,
        )  # fmt: skip
