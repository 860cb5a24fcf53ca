"""Makes loops of what repeats: an unrolled `for` of the user's becomes one operation `loop` again.

Guarantees: the results are those of the straight-line program, bit for bit with `exact`. Without it, sums of a term
of each iteration are added up in another order, by one operation on stacks after the loop where the terms allow it.
Programs in which nothing repeats regularly are returned as they are.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from srcdiff.core.program import Node, Program
from srcdiff.ops.loops import pack
from srcdiff.transform.assemble import Assembly
from srcdiff.transform.gather import gathered
from srcdiff.transform.places import DownwardsError, IrregularError, LastError
from srcdiff.transform.repeat import LEAST, find_runs, token
from srcdiff.transform.runs import Run
from srcdiff.transform.sums import Chain, chains

#: up to so many iterations a body of nothing but numbers is faster written out
TINY = 200
_DEEPEST = 3  # loops in loops


def reroll(program: Program, exact: bool = False, tiny: int = TINY, stretch: float = 1.0) -> Program:
    """The program with loops. Bodies of numbers are left alone up to `tiny` iterations.

    The memory for stacks is measured as if there were `stretch` times as many iterations.
    """
    program = program if exact else gathered(program)
    for _ in range(_DEEPEST):
        made = _once(program, exact, tiny, stretch)
        if made is program:
            break
        program = made
    return program


def users_of(program: Program, nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    """For each value the operations that read it, in order."""
    users: dict[Node, list[Node]] = {node: [] for node in (*program.inputs, *nodes)}
    for node in nodes:
        for x in dict.fromkeys(node.operands):
            users[x].append(node)
    return users


def _once(program: Program, exact: bool, tiny: int, stretch: float) -> Program:
    nodes = program.nodes()
    users = users_of(program, nodes)
    outputs = {out for out in program.outputs if out is not None}
    sums = [] if exact else chains(nodes, users, outputs)
    aside = _shared(nodes, users) | {node for chain in sums for node in chain.members}
    sequence = [node for node in nodes if node.prim is not None and node not in aside and node.prim is not pack]
    runs = [run for run in find_runs(sequence, users, ()) if _worth(run, tiny)]
    return _assembled(program, nodes, users, runs, sums, stretch)


def _assembled(
    program: Program,
    nodes: tuple[Node, ...],
    users: dict[Node, list[Node]],
    runs: list[Run],
    sums: list[Chain],
    stretch: float,
) -> Program:
    upwards: set[Run] = set()
    while runs:
        try:
            return Assembly(program, nodes, users, runs, sums, stretch, upwards).program()
        except DownwardsError as reason:
            upwards.add(reason.run)
        except LastError as reason:
            shorter = reason.run.without_last()
            if reason.run in upwards:
                upwards.add(shorter)
            runs = [shorter if run is reason.run else run for run in runs if run is not reason.run or run.trips > LEAST]
        except IrregularError as reason:
            runs = [run for run in runs if run is not reason.run]
    return program


def _shared(nodes: tuple[Node, ...], users: dict[Node, list[Node]]) -> set[Node]:
    """Values computed once from inputs and used over and over by one operation, like `U.T`: no part of a body."""
    pure: set[Node] = set()
    for node in nodes:
        if node.prim is not None and all(x.prim is None or (x in pure and x.prim.view) for x in node.operands):
            pure.add(node)
    shared: set[Node] = set()
    for node in reversed(nodes):
        if node not in pure:
            continue
        used = users[node]
        often = len(used) >= LEAST and max(Counter(map(token, used)).values()) >= LEAST
        if often or (used and all(user in shared for user in used)):
            shared.add(node)
    return shared


def _worth(run: Run, tiny: int) -> bool:
    """Whether a loop is shorter to read and not slower to run than its iterations one by one."""
    numbers = all(type(node.aval) is not tuple and node.shape == () for node in run.sample)
    return run.trips > tiny if numbers else True


def written_out(program: Program) -> tuple[str, ...]:
    """What to say of loops of the user's that a program without loops repeats: which line, how often, and why."""
    counts: Counter[tuple[str, int]] = Counter()
    numbers: dict[tuple[str, int], bool] = {}
    seen: Counter[Any] = Counter()
    for node in program.nodes():
        if node.prim is None or node.source.line is None or node.source.file is None or not (node.name or node.hint):
            continue
        place = node.source.file, node.source.line
        key = place, node.prim, re.sub(r"_\d+$", "", node.name or node.hint or "")
        seen[key] += 1
        counts[place] = max(counts[place], seen[key])
        numbers[place] = numbers.get(place, True) and type(node.aval) is not tuple and node.shape == ()
    return tuple(
        f"written out {count} times: {os.path.basename(file)}:{line}, "
        + ("which computes with numbers" if numbers[file, line] else "whose iterations differ")
        for (file, line), count in counts.items() if count >= LEAST
    )  # fmt: skip
