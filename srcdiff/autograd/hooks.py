"""What runs around a node of a marked graph: tensor hooks, node hooks, `retain_grad`."""

from __future__ import annotations

from typing import Any
from weakref import ref

from srcdiff.errors import AutogradError, DTypeError
from srcdiff.tape import record
from srcdiff.tape.node import GradNode
from srcdiff.tape.value import TensorBase


def _wrap(ct: Any) -> Any:
    return ct if ct is None or isinstance(ct, TensorBase) else record.plain(ct)


def _unwrap(ct: Any, create_graph: bool) -> Any:
    return ct if create_graph or not isinstance(ct, TensorBase) else ct._value


def retain_grad(tensor: Any) -> None:
    """Have the `.grad` of a tensor that is no leaf filled in by backward; leaves have theirs anyway."""
    edge = tensor._edge
    if edge is None:
        raise AutogradError("can't retain_grad on Tensor that has requires_grad=False")
    if tensor._requires:
        return
    node, k = edge if type(edge) is tuple else (edge, 0)
    node.mark()
    node.options.retain[k] = ref(tensor)


def before_node(node: GradNode, ct: Any, create_graph: bool) -> Any:
    """Run tensor hooks and prehooks on the cotangents of a node's outputs, then keep what is retained."""
    options = node.options
    parts = ct if type(ct) is dict else {0: ct}
    for k, hooks in list(options.tensor_hooks.items()):
        if k in parts:
            parts[k] = _run_hooks(hooks, parts[k], create_graph)
    if options.pre_hooks:
        outputs = node.outputs if type(ct) is dict else 1
        grads = tuple(_wrap(parts.get(k)) for k in range(outputs))
        for hook in list(options.pre_hooks.values()):
            made = hook(grads)
            if made is not None:
                grads = tuple(made)
        parts = {k: _unwrap(g, create_graph) for k, g in enumerate(grads) if g is not None}
    for k, reference in list(options.retain.items()):
        tensor = reference()
        if tensor is not None and k in parts:
            kept = _wrap(parts[k])
            kept = kept if create_graph else record.plain(kept._value.copy())
            tensor._grad = kept if tensor._grad is None else tensor._grad + kept
    return parts if type(ct) is dict else parts.get(0)


def _run_hooks(hooks: dict[int, Any], ct: Any, create_graph: bool) -> Any:
    for hook in list(hooks.values()):
        made = hook(_wrap(ct))
        if made is None:
            continue
        if not isinstance(made, TensorBase):
            raise DTypeError(f"expected Variable, but hook returned '{type(made).__name__}'")
        if made._value.shape != ct.shape:
            raise DTypeError(f"hook has changed the size of value: from {tuple(ct.shape)} to {made._value.shape}")
        ct = _unwrap(made, create_graph)
    return ct


def after_node(node: GradNode, results: list[Any], ct: Any, create_graph: bool) -> list[Any]:
    """Run node hooks on the cotangents of a node's inputs."""
    hooks = node.options.post_hooks
    if not hooks:
        return results
    parts = ct if type(ct) is dict else {0: ct}
    outputs = tuple(_wrap(parts.get(k)) for k in range(node.outputs if type(ct) is dict else 1))
    grads = tuple(_wrap(made) for made in results)
    for hook in list(hooks.values()):
        made = hook(grads, outputs)
        if made is not None:
            grads = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    return [_unwrap(g, create_graph) for g in grads]
