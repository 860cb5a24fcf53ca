"""Gradients arriving at leaves: `.grad` is made or added to, in place, as PyTorch does."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.tape import record
from srcdiff.tape.node import AccumulateGrad
from srcdiff.tape.storage import storage_of


def accumulate(node: AccumulateGrad, ct: Any, copy: bool, create_graph: bool) -> None:
    """Add a cotangent (an array, or a Tensor under `create_graph`) to the leaf's gradient; run its hooks.

    `copy` says that the array may share memory with something else.
    """
    variable = node.variable
    state = variable.__dict__
    grad = state.get("_grad")
    if create_graph:
        variable._grad = REGISTRY["copy"](ct) if grad is None else grad + ct
    elif grad is None:
        if copy and isinstance(ct, np.ndarray):
            ct = np.array(ct)
        variable._grad = record.plain(ct)
    elif grad._edge is not None:
        # the gradient of an earlier create_graph pass is part of a graph: leave it alone
        variable._grad = record.plain(grad._value + ct)
    else:
        if grad._storage is not None or grad._cell is not None:
            storage_of(grad).before_write(snapshot=False)
        value = grad._value
        array = value if type(value) is np.ndarray else grad._array
        np.add(array, ct, out=array, casting="unsafe")
    options = node.extra
    if options is None:
        return
    for hook in list(options.post_accumulate.values()):
        hook(variable)
