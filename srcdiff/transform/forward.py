"""Forward mode: from a program to the program of its Jacobian-vector product.

Guarantees: the result's inputs are one tangent per value of `wrt`, then the values of the given program it reads
(`Derived.saved`), which are among those that the reverse mode would read; its outputs are the tangents of the given
program's outputs, None where the derivative is zero by structure. Each tangent has the shape and dtype of its value.

There are no rules but those of the reverse mode. With u the cotangent of the result and t the tangent of an operand:

    elementwise, real     the Jacobian is diagonal, hence its own transpose: rule(t)
    linear                the operation itself, applied to t
    all others            u -> rule(u) is linear, and its own reverse is t -> J t; or what the primitive declares
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from srcdiff.core.builder import Builder, item, rename, suggest
from srcdiff.core.primitive import Primitive
from srcdiff.core.program import NOWHERE, Node, Program
from srcdiff.errors import NotDifferentiableError
from srcdiff.ops.pull import pull
from srcdiff.ops.structural import fit
from srcdiff.ops.zeros import Partial, landed, marked, unmarked
from srcdiff.transform.names import described
from srcdiff.transform.reverse import active_nodes, reverse, squared_root
from srcdiff.transform.values import Derived, Values

#: of each output of an operation; None: zero
Parts = tuple[Any, ...]


def forward(
    primal: Program, wrt: Sequence[Node], available: Collection[Node] | None = None, name: str | None = None
) -> Derived:
    """The jvp of `primal` along tangents of `wrt` (nodes of it). `available` as in `reverse`."""
    values = Values(available)
    builder = values.builder
    seeds = [builder.input(node.aval, f"t_{described(node) or 'x'}", node.source) for node in wrt]
    tangents: dict[Node, Parts] = {node: (seed,) for node, seed in zip(wrt, seeds, strict=True)}
    nodes = primal.nodes()
    active = active_nodes(nodes, wrt)
    for node in nodes:
        if node not in active or node in tangents or node.prim is None:
            continue
        builder.source = node.source
        if node.prim.name == "item":
            parts = tangents.get(node.operands[0])
            made: Parts = (None,) if parts is None else (parts[node.kwargs["k"]],)
        else:
            root = squared_root(node, active)
            if root is None or root in wrt:
                made = _pushed(values, node, _moving(tangents, node))
            else:
                made = _summed(values, root, _moving(tangents, root), _outputs(node), squared=True)
        if any(part is not None for part in made):
            tangents[node] = tuple(map(_named, _outputs(node), made))
    builder.source = NOWHERE
    outputs = [None if out is None else landed(_of(tangents, out)) for out in primal.outputs]
    for k, tangent in enumerate(outputs):
        if tangent is not None:
            rename(tangent, "t_out" if len(outputs) == 1 else f"t_out{k}")
    return values.closed(name or f"{primal.name}_tangent", seeds, outputs, available)


def _of(tangents: Mapping[Node, Parts], node: Node) -> Any:
    """The tangent of a value that is one array."""
    found = tangents.get(node)
    return None if found is None or isinstance(node.aval, tuple) else found[0]


def _moving(tangents: Mapping[Node, Parts], node: Node) -> dict[int, Any]:
    """The tangents of those operands that have one."""
    found = {k: _of(tangents, x) for k, x in enumerate(node.operands)}
    return {k: tangent for k, tangent in found.items() if tangent is not None}


def _outputs(node: Node) -> tuple[Node, ...]:
    return tuple(item(node, k) for k in range(len(node.aval))) if isinstance(node.aval, tuple) else (node,)


def _named(value: Node, tangent: Any) -> Any:
    """The tangent, named after its value."""
    if tangent is None:
        return None
    if type(tangent) is Partial:
        tangent.name = tangent.name or (lambda node: _named(value, node))
        return tangent
    if value.name:
        return rename(tangent, f"t_{value.name}")
    return suggest(tangent, f"t_{described(value) or 'x'}")


def _pushed(values: Values, node: Node, moving: Mapping[int, Any]) -> Parts:
    """The tangents of an operation's outputs from those of its operands."""
    prim = node.prim
    assert prim is not None
    outputs = _outputs(node)
    if prim.linear == "all" and all(k in moving for k in range(len(node.operands)) if prim.rule(k) is not None):
        return _fitted(prim(*_replaced(values, node, moving), **node.kwargs), outputs, values)
    return _summed(values, node, moving, outputs)


def _summed(
    values: Values, node: Node, moving: Mapping[int, Any], outputs: tuple[Node, ...], squared: bool = False
) -> Parts:
    """What all moving operands contribute. `squared`: to the square of the operation, which is `outputs`."""
    prim = node.prim
    assert prim is not None
    total: Parts = (None,) * len(outputs)
    for k, tangent in moving.items():
        if prim.rule(k) is None:
            raise NotDifferentiableError(f"{prim.name} has no derivative with respect to {prim.operand_name(k)}")
        made = _along(values, node, k, tangent, outputs, squared)
        total = tuple(a if b is None else b if a is None else a + b for a, b in zip(total, made, strict=True))
    return _fitted(total, outputs, values)


def _fitted(made: Any, outputs: Sequence[Node], values: Values) -> Parts:
    parts = made if type(made) is tuple else [item(made, k) for k in range(len(outputs))] if _several(made) else [made]
    return tuple(
        None if part is None else _lifted(values, fit(part, out.aval)) for part, out in zip(parts, outputs, strict=True)
    )


def _lifted(values: Values, tangent: Any) -> Any:
    tangent = unmarked(tangent)
    return tangent if type(tangent) is Partial else values.builder.lift(tangent)


def _several(made: Any) -> bool:
    return isinstance(made, Node) and isinstance(made.aval, tuple)


def _replaced(values: Values, node: Node, tangents: Mapping[int, Any]) -> list[Any]:
    """The operands with tangents in the place of those that have one."""
    return [marked(tangents[k]) if k in tangents else values[operand] for k, operand in enumerate(node.operands)]


def _along(values: Values, node: Node, k: int, tangent: Any, outputs: Sequence[Node], squared: bool) -> Parts:
    """What the tangent of operand k contributes to each output."""
    prim = node.prim
    assert prim is not None
    if prim.linear == "each" and not squared and _has_others(prim, node, k):
        return _fitted(prim(*_replaced(values, node, {k: tangent}), **node.kwargs), outputs, values)
    real = all(x.dtype.kind != "c" for x in (*node.operands, *outputs))
    operands = [values[x] for x in node.operands]
    if prim.elementwise and real:
        made = pull(prim, k, tangent, values[node], operands, node.kwargs, outputs[0].aval, squared)
        return (None,) if made is None else (_lifted(values, made),)
    if prim.push is not None and not squared:
        return (values.builder.lift(prim.push(landed(tangent), values[node], *operands, **node.kwargs)),)
    return _transposed(values, node, k, tangent, outputs, squared)


def _has_others(prim: Primitive, node: Node, k: int) -> bool:
    """Whether the rule for operand k reads all other operands, so that they are there."""
    saved = prim.saved_for(k)
    return "*" in saved or all(
        j == k or x.is_literal or prim.operand_name(j) in saved for j, x in enumerate(node.operands)
    )


def _transposed(values: Values, node: Node, k: int, tangent: Any, outputs: Sequence[Node], squared: bool) -> Parts:
    """The reverse of operand k's rule, a linear function of the cotangents, at the tangent."""
    prim = node.prim
    assert prim is not None
    rule: Any = prim.squared[k] if squared and prim.squared is not None else prim.rule(k)
    saved, scratch = prim.saved_for(k), Builder()
    assert rule is not None
    stands_for: dict[Node, Node] = {}

    def entering(value: Node, read: bool) -> Any:
        if value.is_literal or not read:
            return value.literal if value.is_literal else value.aval
        made = scratch.input(value.aval)
        stands_for[made] = value
        return made

    operands = [entering(x, "*" in saved or prim.operand_name(j) in saved) for j, x in enumerate(node.operands)]
    results = tuple(entering(x, "out" in saved) for x in outputs)
    cts = [scratch.input(x.aval) if x.aval.differentiable else None for x in outputs]
    several = isinstance(node.aval, tuple)
    made = rule(tuple(cts) if several else cts[0], results if several else results[0], *operands, **node.kwargs)
    pulled = None if made is None else scratch.lift(fit(made, node.operands[k].aval))
    if pulled is None or pulled.is_literal:
        return (None,) * len(outputs)
    wrt = [ct for ct in cts if ct is not None]
    pull = Program(prim.name, (*wrt, *stands_for), (pulled,))
    push = reverse(pull, wrt, stands_for.keys())
    found = iter(_inlined(values, push.program, [marked(tangent), *(values[stands_for[x]] for x in push.saved)]))
    return tuple(None if ct is None else next(found) for ct in cts)


def _inlined(values: Values, program: Program, arguments: Sequence[Any]) -> list[Any]:
    """The outputs of another program, computed in this one."""
    emit = values.builder.emit
    new: dict[Node, Any] = dict(zip(program.inputs, arguments, strict=True))
    for node in program.nodes():
        if node.prim is None:
            new.setdefault(node, node.literal)
            continue
        operands = tuple(new[x] for x in node.operands)
        sparse = any(type(x) is Partial for x in operands)
        new[node] = node.prim(*operands, **node.kwargs) if sparse else emit(node.prim, operands, node.kwargs)
    return [None if out is None else _lifted(values, new[out]) for out in program.outputs]
