"""Running one function here and in PyTorch on the same numbers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.autograd.tensor_api import set_requires_grad
from srcdiff.nn import functional as F
from srcdiff.tape.record import plain

Peer = Callable[..., Any]


def torch() -> Any:
    """PyTorch, where it is installed."""
    return importlib.import_module("torch")


def here(value: Any) -> Any:
    """A copy as a Tensor, requiring grad if it is of floats."""
    if not isinstance(value, np.ndarray):
        return value
    made = plain(value.copy())
    if value.dtype.kind == "f":
        set_requires_grad(made, True)
    return made


def there(value: Any) -> Any:
    """The same in PyTorch."""
    if not isinstance(value, np.ndarray):
        return value
    return torch().tensor(value, requires_grad=value.dtype.kind == "f")


def answers(function: Any, make: Callable[[Any], Any], name: str, args: list[Any], options: dict[str, Any]) -> Any:
    """The value of a function and the gradients of a weighted sum of it; operands are made with `make`."""
    operands = [make(arg) for arg in args]
    if name in ("margin_ranking_loss", "hinge_embedding_loss", "cosine_embedding_loss", "soft_margin_loss"):
        operands[-1] = operands[-1].detach()
    if name == "batch_norm" and args[1] is not None:
        operands[1:3] = [operands[1].detach(), operands[2].detach()]
    keywords = {key: make(value).detach() if isinstance(value, np.ndarray) else value for key, value in options.items()}
    out = function(*operands, **keywords)
    weights = np.linspace(0.5, 1.5, int(np.prod(out.shape))).reshape(tuple(out.shape))
    (out * make(weights).detach()).sum().backward()
    values = [out.detach().numpy()]
    for operand in operands:
        if hasattr(operand, "requires_grad") and operand.requires_grad:
            grad = operand.grad
            values.append(np.zeros(tuple(operand.shape)) if grad is None else grad.numpy())
    return values


def gradients(pytorch: Peer, name: str, args: list[Any], options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The value of `nn.functional.name` and the gradients of a weighted sum of it, here and in PyTorch."""
    theirs = pytorch(lambda: answers(getattr(torch().nn.functional, name), there, name, args, options), digits=12)
    return answers(getattr(F, name), here, name, args, options), theirs
