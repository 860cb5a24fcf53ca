"""Recognises formulas in forward programs whose derivative has a better form than the chain rule gives step by step.

    1 / (1 + exp(-z))                  the logistic function: its slope p * (1 - p) is 0, not NaN, where exp overflows
    x - max(x) inside a softmax or     the result doesn't depend on what is subtracted, so nothing flows through the
    the logarithm of a sum of exps     maximum, and its derivative need not be computed

Guarantees: values and outputs are unchanged; nothing is asked for that the recording did not save: what a formula's
slope reads is available, or computed from available values. A value inside a formula that is differentiated itself,
returned, or used elsewhere keeps the formula from being recognised. Different values of one name are numbered in
the order in which they were computed, so that `g_h_2` in the backward program belongs to `h_2`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from srcdiff.core.builder import Builder, item, rename
from srcdiff.core.program import Node, Program
from srcdiff.index import FULL
from srcdiff.ops.elementwise import div, mul, neg, sub
from srcdiff.ops.transcendental import sigmoid
from srcdiff.transform.identity import made_by

Users = dict[Node, list[Node]]


def prepare(
    program: Program, keep: Collection[Node] | None = None, wrt: Collection[Node] = ()
) -> tuple[Program, dict[Node, Node]]:
    """The program with formulas recognised, and for each node of `program` the one that stands for it.

    `keep` are the values available to the backward pass (None: all), `wrt` those that will be differentiated.
    """
    nodes = program.nodes()
    users: Users = {node: [] for node in (*program.inputs, *nodes)}
    for node in nodes:
        for operand in node.operands:
            users[operand].append(node)
    fixed = {*wrt, *(out for out in program.outputs if out is not None)}
    logistic: dict[Node, Node] = {}
    constant: set[Node] = set()
    for node in nodes:
        if made_by(node, "div"):
            z = _logistic_argument(node, users, fixed)
            if z is not None:
                logistic[node] = z
        elif made_by(node, "max") and node not in fixed:
            constant.update(_shifts_only(node, users, fixed))
    numbered = _numbered_names((*program.inputs, *(node for node in nodes if node.prim is not None)))
    if not logistic and not constant and not numbered:
        return program, {node: node for node in (*users, *(keep or ()))}
    return _rebuilt(program, nodes, logistic, constant, numbered, keep)


def _rebuilt(
    program: Program, nodes: tuple[Node, ...], logistic: dict[Node, Node], constant: set[Node],
    numbered: dict[Node, str], keep: Collection[Node] | None,
) -> tuple[Program, dict[Node, Node]]:  # fmt: skip
    builder = Builder()
    new: dict[Node, Node] = {}
    inputs: list[Node] = []

    def entering(node: Node) -> Node:
        made = builder.input(node.aval, numbered.get(node, node.name), node.source)
        inputs.append(made)
        return made

    for node in program.inputs:
        new[node] = entering(node)
    for node in nodes:
        if node in new:
            continue
        builder.source = node.source
        name = numbered.get(node, node.name)
        if node.prim is None:
            new[node] = builder.literal(node.literal)
        elif node in constant:
            new[node] = entering(node)
        elif node in logistic and (keep is None or node in keep):
            new[node] = rename(sigmoid(_argument(logistic[node], new)), name)
        elif node in logistic and node.operands[1] in keep:  # type: ignore[operator]
            # the value is not needed, only a node through which p * (1 - p) * ct flows, with p from what is saved
            below = new[node.operands[1]] = entering(node.operands[1])
            p = builder.emit(node.prim, (new[node.operands[0]], below), {})
            new[node] = rename(mul(_argument(logistic[node], new), mul(p, sub(1.0, p))), name)
        else:
            operands = tuple(new[operand] for operand in node.operands)
            make = builder.emit if made_by(node, "item") else builder.opaque
            new[node] = rename(make(node.prim, operands, node.kwargs, node.aval), name)
    _add_items(keep, new)
    outputs = tuple(None if out is None else new[out] for out in program.outputs)
    return Program(program.name, tuple(inputs), outputs), new


def _add_items(keep: Collection[Node] | None, new: dict[Node, Node]) -> None:
    """Outputs of operations with several that only the backward pass reads."""
    for node in keep or ():
        if node not in new and made_by(node, "item") and node.operands[0] in new:
            new[node] = item(new[node.operands[0]], node.kwargs["k"])


def prepare_exactly(
    program: Program, keep: Collection[Node] | None = None, wrt: Collection[Node] = ()
) -> tuple[Program, dict[Node, Node], dict[Node, Node]]:
    """The program whose derivatives have the bits of eager execution, which does nothing about formulas but to give
    1 / (1 + exp(u)) its slope in u, p * (p - 1), in one step.

    With it, for each node of `program` the one that stands for it, and for each input that is new the value it has.
    Nodes that stand for a logistic function carry its derivative, not its value.
    """
    nodes = program.nodes()
    numbered = _numbered_names((*program.inputs, *(node for node in nodes if node.prim is not None)))
    builder = Builder()
    new = {node: builder.input(node.aval, numbered.get(node, node.name), node.source) for node in program.inputs}
    inputs = list(new.values())
    entering: dict[Node, Node] = {}
    for node in nodes:
        if node in new:
            continue
        builder.source = node.source
        name = numbered.get(node, node.name)
        if node.prim is None:
            new[node] = builder.literal(node.literal)
        elif (power := _power_of_logistic(node, wrt)) is not None and (keep is None or node.operands[1] in keep):
            below = builder.input(node.aval, None, node.source)
            inputs.append(below)
            entering[below] = node.operands[1]
            p = div(1.0, below)
            new[node] = rename(mul(new[power.operands[0]], mul(p, sub(p, 1.0))), name)
        else:
            operands = tuple(new[operand] for operand in node.operands)
            make = builder.emit if made_by(node, "item") else builder.opaque
            new[node] = rename(make(node.prim, operands, node.kwargs, node.aval), name)
    _add_items(keep, new)
    outputs = tuple(None if out is None else new[out] for out in program.outputs)
    return Program(program.name, tuple(inputs), outputs), new, entering


def _power_of_logistic(node: Node, wrt: Collection[Node]) -> Node | None:
    """exp(u) if the node is 1 / (1 + exp(u)), none of whose parts is differentiated itself."""
    if not made_by(node, "div") or node.operands[0].literal != 1 or node.dtype.kind != "f":
        return None
    below = node.operands[1]
    if not made_by(below, "add") or below in wrt:
        return None
    first, second = below.operands
    power, one = (second, first) if first.is_literal else (first, second)
    fits = one.literal == 1 and made_by(power, "exp") and power.aval is node.aval and power not in wrt
    return power if fits else None


def _numbered_names(nodes: tuple[Node, ...]) -> dict[Node, str]:
    """New names for those that share theirs: h, h_2, h_3."""
    taken = {node.name for node in nodes if node.name}
    counts: dict[str, int] = {}
    numbered: dict[Node, str] = {}
    for node in nodes:
        if not node.name:
            continue
        count = counts[node.name] = counts.get(node.name, 0) + 1
        if count == 1:
            continue
        while f"{node.name}_{count}" in taken:
            count = counts[node.name] = count + 1
        numbered[node] = f"{node.name}_{count}"
        taken.add(numbered[node])
    return numbered


# ------------------------------------------------------------------------------------------------ the logistic function


def _argument(u: Node, new: dict[Node, Node]) -> Node:
    """z of 1 / (1 + exp(u)), u = -z."""
    return new[u.operands[0]] if made_by(u, "neg") else neg(new[u])


def _logistic_argument(node: Node, users: Users, fixed: set[Node]) -> Node | None:
    """u if the node is 1 / (1 + exp(u)) and its parts serve nothing else."""
    above, below = node.operands
    if above.literal != 1 or not made_by(below, "add") or node.dtype.kind != "f":
        return None
    first, second = below.operands
    power = second if first.literal == 1 else first if second.literal == 1 else None
    if power is None or not made_by(power, "exp"):
        return None
    u = power.operands[0]
    inside = [below, power, *([u] if made_by(u, "neg") else [])]
    if any(part in fixed for part in inside) or len(users[below]) != 1 or len(users[power]) != 1:
        return None
    return u


# ------------------------------------------------------------------------------------------------- shifted exponentials


def _shifts_only(peak: Node, users: Users, fixed: set[Node]) -> tuple[Node, ...]:
    """A maximum that is only subtracted before exponentials whose sum over the same axis undoes the shift, with the
    other one, if it was computed again for that; nothing if more is done with it.
    """
    if _is_undone(peak, peak, users, fixed):
        return (peak,)
    for again in users[peak.operands[0]]:
        alike = again is not peak and made_by(again, "max") and again not in fixed and _axes(again) == _axes(peak)
        if alike and len(users[peak]) == 1 and _is_undone(peak, again, users, fixed):
            return peak, again
    return ()


def _is_undone(peak: Node, again: Node, users: Users, fixed: set[Node]) -> bool:
    """The same, of a maximum that is added, or subtracted once more, as `again`."""
    shifts = [user for user in users[peak] if made_by(user, "sub") and user.operands[1] is peak]
    if len(shifts) != 1 or shifts[0] in fixed:
        return False
    (shifted,) = shifts
    powers = [user for user in users[shifted] if made_by(user, "exp")]
    if len(powers) != 1 or powers[0] in fixed:
        return False
    (power,) = powers
    sums = [user for user in users[power] if made_by(user, "sum") and _same_axes(user, peak)]
    if len(sums) != 1 or sums[0] in fixed:
        return False
    (total,) = sums
    rest = [user for user in users[power] if user is not total]
    softmax = all(made_by(user, "div") and user.operands == (power, total) for user in rest) and rest
    back = [user for user in users[again] if user is not shifted]
    if softmax:
        return not back and users[shifted] == [power] and _no_more(users[total], rest) and _kept(total)
    if rest or len(users[total]) != 1 or not made_by(users[total][0], "log") or users[total][0] in fixed:
        return False
    (level,) = users[total]
    others = [user for user in users[shifted] if user is not power]
    if others:  # log_softmax: x - max - log(sum(exp(x - max)))
        same = all(made_by(user, "sub") and user.operands == (shifted, level) for user in others)
        return same and not back and _no_more(users[level], others) and _kept(total)
    # logsumexp: log(sum(exp(x - max))) + max, the maximum perhaps without the reduced axis
    return _adds_back(level, again, back, users, fixed)


def _no_more(found: list[Node], expected: list[Node]) -> bool:
    return all(node in expected for node in found)


def _kept(reduced: Node) -> bool:
    """Whether a reduction of x beside x meets the group it is of: its axes were kept, or are the first ones."""
    return bool(reduced.kwargs["keepdims"]) or sorted(_axes(reduced)) == list(range(len(_axes(reduced))))


def _same_axes(total: Node, peak: Node) -> bool:
    """Whether the sum runs over the axes of the maximum, which is beside each what it is the maximum of."""
    return _axes(total) == _axes(peak) and _kept(peak)


def _axes(node: Node) -> tuple[int, ...]:
    """The axes of a reduction."""
    axes: Any = node.kwargs["axis"]
    return tuple(range(node.operands[0].ndim)) if axes is None else (axes,) if isinstance(axes, int) else axes


def _keeps_order(part: Node) -> bool:
    """Whether an index leaves the elements in their order: `peak[:, 0]`, but not `peak[::-1]`."""
    parts = part.kwargs["index"].parts
    return all(each is None or each is Ellipsis or each == FULL or type(each) is int for each in parts)


def _adds_back(level: Node, peak: Node, back: list[Node], users: Users, fixed: set[Node]) -> bool:
    """Whether level + peak is all that is done with both, the maximum squeezed by a reshape or an index or as it is."""
    if len(back) != 1 or len(users[level]) != 1:
        return False
    (total,) = users[level]
    (other,) = back
    if other is not total:  # peak[:, 0]
        if not (made_by(other, "getitem") or made_by(other, "reshape")) or other in fixed or users[other] != [total]:
            return False
        if other.aval.size != peak.aval.size or (made_by(other, "getitem") and not _keeps_order(other)):
            return False
    else:
        other = peak
    return made_by(total, "add") and level in total.operands and other in total.operands and level.shape == other.shape
