"""Prints programs that have loops: `for t in range(50):` with the statements of the body.

Guarantees: as `emit`; the statements of a body stand once, and are executed in the order of the iterations. What
every iteration leaves is stored in an array that is made before the loop, written into directly where the operation
can, or in a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from srcdiff.aval import abbreviate
from srcdiff.aval import aval as of_type
from srcdiff.codegen.blocks import emit_blocks, has_blocks
from srcdiff.codegen.elements import (
    count_reads,
    element_index,
    is_loop,
    is_zeros,
    living_on,
    loops_of_numbers,
    may_be_element,
    operations,
    shifted,
    stacks_of,
    without_number,
    writing_into,
    written_over,
)
from srcdiff.codegen.emit import _Function, _ufunc_of, deletion, emit
from srcdiff.codegen.header import Header
from srcdiff.codegen.hosts import Guest, guests
from srcdiff.codegen.idioms import written
from srcdiff.codegen.numbers import FUNCTIONS, _Numbers, emit_numbers, of_numbers
from srcdiff.codegen.printer import Comments
from srcdiff.codegen.statements import Statement, partition
from srcdiff.codegen.template import call, constant, method, name, renamed, store, subscript
from srcdiff.core.loop import Carried, Fixed, Kept, Loop
from srcdiff.core.program import Node, Program
from srcdiff.index import Index, Slice
from srcdiff.transform.names import stem
from srcdiff.transform.parts import BAND
from srcdiff.transform.schedule import Plan, Step

_LOAD = gast.Load()
AFTER_FIRST = Index((Slice(1, None, None),), False, True)


def emit_loops(
    program: Program, doc: str | Header | None = None, plain: bool = False, quick: bool = False, exact: bool = False
) -> str:
    """The text of a function that computes the program's outputs: `emit`, for programs that may have loops."""
    if not any(map(is_loop, program.nodes())):
        if has_blocks(program):
            return emit_blocks(program, doc, plain)
        return emit_numbers(program, doc) if quick and of_numbers(program) else emit(program, doc, plain, quick, exact)
    if quick and loops_of_numbers(program):
        return _emit_number_loops(program, doc)
    function = _Looping(program, plain, exact=exact)
    if quick and not plain:
        function.hurry()
    return function.text(doc)


class _Looping(_Function):
    """An emission that knows the operation `loop`."""

    #: names of the variables that count, of loops inside each other
    turns: list[str]
    depth = 0

    def __init__(self, program: Program, plain: bool, reserved: Sequence[str] = (), exact: bool = False) -> None:
        super().__init__(program, plain, reserved, exact)
        self.turns = []
        #: values that are made in the memory of an array that a loop fills, and the variables that hold such memory
        self.guests: dict[Node, Guest] = {}
        self.held: dict[Node, str] = {}
        #: what is written where a value is read that has no variable: `h[t]`
        self.trees: dict[Node, Any] = {}
        self.read: Counter[Node] = Counter(x for node in program.nodes() for x in node.operands)
        self.read.update(out for out in program.outputs if out is not None)

    def turn(self, depth: int) -> str:
        """The variable that counts in a loop inside so many others."""
        if depth == len(self.turns):
            self.turns.append(self.namer.take("t"))
        return self.turns[depth]

    def _statement(self, statement: Statement, into: Node | None, dead: tuple[Node, ...]) -> list[Any]:
        node = statement.node
        if node in self.guests:
            return self._invited(statement, self.guests[node], dead)
        if not is_loop(node):
            return super()._statement(statement, into, dead)
        lines = _LoopText(self, node).lines()
        self.shown = None
        if dead:
            lines.append(deletion(dict.fromkeys(self.names[x] for x in dead)))
        return lines

    def _invited(self, statement: Statement, guest: Guest, dead: tuple[Node, ...]) -> list[Any]:
        """The statement of a value that is made in the memory of an array that a loop below fills."""
        node, host = statement.node, guest.host
        lines: list[Any] = []
        if guest.over is None:
            over = self.stacks.get(host)
            if over is not None:
                label = self.names[over]
            elif host in self.buffers:
                label = self.buffer_names[self.buffers[host]]
            else:
                label = self.namer.take("memory")
                lines.append(gast.Assign([store(label)], empty(host.aval), None))
                self.comments[lines[0]] = Comments((), str(host.aval))
            self.held[host] = label
            part = gast.Subscript(name(label), subscript(AFTER_FIRST, []), _LOAD)
            tree, remark = writing_into(self._tree(node), part), f"in {label}"
        else:
            label = self.names[guest.over]
            tree, remark = writing_into(self._tree(node), name(label)), f"reuses {label}"
        self.names[node] = self.namer.take(statement.label)
        line = gast.Assign([store(self.names[node])], tree, None)
        self.comments[line] = Comments(self._heading(node.source), f"{node.aval}, {remark}")
        return [*lines, line, *([deletion(dict.fromkeys(self.names[x] for x in dead))] if dead else [])]

    # Memory: an array that a loop fills is planned as if a step before the loop made it, or before what is made in it.

    def _plan(self) -> Plan:
        if self.quick and not self.plain:
            self.guests = guests(self.statements, self.items, self.read)
        return super()._plan()

    def _kept(self) -> list[Node]:
        """The outputs, and what goes into a loop and may live on in what comes out."""
        kept = super()._kept()
        for statement in self.statements:
            if is_loop(statement.node):
                kept += [statement.node.operands[k] for k in living_on(statement.node.kwargs["spec"])]
        return kept + [y for x in kept for y in self._beside(x)]

    def _filled(self, statement: Statement) -> list[Node]:
        """The arrays of values of all iterations that something reads."""
        return stacks_of(statement.node, self.items) if is_loop(statement.node) else []

    def _beside(self, x: Node) -> list[Node]:
        """The arrays that a loop fills along with a result in which the value lives: that may be an element of one."""
        while x.prim is not None and x.prim.view and x.prim.name != "item":
            x = x.operands[0]
        if x.prim is None or x.prim.name != "item" or not is_loop(x.operands[0]):
            return []
        if not may_be_element(x.operands[0], x.kwargs["k"]):
            return []
        return stacks_of(x.operands[0], self.items)

    def _steps(self, statement: Statement, defined: set[Node]) -> list[Step]:
        node = statement.node
        reads = tuple(dict.fromkeys(y for x in statement.reads for y in (x, *self._beside(x))))
        if not is_loop(node):
            step = replace(self._step(statement, defined), reads=reads)
            guest = self.guests.get(node)
            if guest is None:
                return [step]
            step = replace(step, memory=guest.host, fresh=False, writable=False)
            return [step] if guest.over is not None else [Step(guest.host, (), guest.host, True, True), step]
        hosts = {guest.host for guest in self.guests.values()}
        filled = [x for x in self._filled(statement) if x not in hosts]
        taken = {
            x: over for x in filled if (over := written_over(node, x)) is not None and x.aval is over.aval
        }  # fmt: skip
        steps = [Step(x, (taken[x],) if x in taken else (), x, True, True) for x in filled]
        reads = tuple(x for x in reads if x not in taken.values())
        return [*steps, Step(node, (*reads, *self._filled(statement)), node, False, False)]


class _LoopText:
    """The text of one loop."""

    def __init__(self, outer: _Looping, node: Node) -> None:
        self.outer = outer
        self.node = node
        self.spec: Loop = node.kwargs["spec"]
        #: results that something reads, by number
        self.results: dict[int, list[Node]] = {}
        for each in outer.items.get(node, ()):
            self.results.setdefault(each.kwargs["k"], []).append(each)
        self.operands: list[Any] = []
        self.before: list[Any] = []

    def lines(self) -> list[Any]:
        """The statements: what the loop needs, and the loop."""
        outer, spec = self.outer, self.spec
        carried = spec.carried
        self.operands = [self._hoisted(k, x) for k, x in enumerate(self.node.operands)]
        kept: list[tuple[Kept, str]] = []
        for k, each in enumerate(spec.kept):
            items = self.results.get(len(carried) + k, [])
            stems = next((x.name for x in items if x.name), None) or "values"
            label = outer.namer.take(stems)
            if label != stems and not stems.endswith("s"):
                label = outer.namer.take(f"{stems}s")
            for item in items:
                outer.names[item] = label
            kept.append((each, label))
            self._buffer(each, label, items[0] if items else None)
        body = _Body(outer, self.node, self.operands, kept)
        for k, read in carried:
            initial = self.node.operands[read.operand]
            if body.adopted(k):
                continue
            line = gast.Assign([store(body.variable(k))], self._initial(initial, read.operand), None)
            outer.comments[line] = Comments((), str(initial.aval))
            self.before.append(line)
        inside = body.lines()
        for number, (k, _) in enumerate(carried):
            for item in self.results.get(number, ()):
                outer.names[item] = body.variable(k)
        for number, output in enumerate(spec.last):
            for item in self.results.get(len(carried) + len(kept) + number, ()):
                outer.names[item] = body.label(output)
        turns = call("range", constant(spec.trips))
        if spec.downwards:
            turns = call("reversed", turns)
        target = store(body.count if body.turned else "_")
        line = gast.For(target, turns, inside, [], None)
        if spec.body.name == BAND:
            outer.comments[line] = Comments((), f"bands of {_inner(spec)}")
        lines = [*self.before, line]
        named = {outer.names[x] for items in self.results.values() for x in items if x in outer.names}
        if outer.again and (left := [label for label in body.views() if label not in named]):
            lines.append(deletion(dict.fromkeys(left)))
        return lines

    def _hoisted(self, k: int, x: Node) -> Any:
        """The tree of an operand: a name, unless it is a number, or costs nothing to write out."""
        outer = self.outer
        if x.is_literal or x in outer.names or x in outer.trees:
            return outer._tree(x)
        assert x.prim is not None
        fixed = any(type(read) is Fixed and read.operand == k for read in self.spec.reads)
        if not fixed and all(type(read) is Carried for read in self.spec.reads if read.operand == k):
            return None  # written where it is assigned to the variable
        if x.prim.name == "transpose" and (x.operands[0] in outer.names):
            return outer._tree(x)
        label = outer.namer.take(stem(x))
        line = gast.Assign([store(label)], outer._tree(x), None)
        outer.comments[line] = Comments((), str(x.aval))
        self.before.append(line)
        outer.names[x] = label
        return name(label)

    def _initial(self, x: Node, operand: int) -> Any:
        if is_zeros(x):  # the body may add to it, though the same zeros have a name
            return written(x, [self.outer._operand(y, x) for y in x.operands], self.outer.quick, self.outer.exact)
        return self.outer._tree(x) if self.operands[operand] is None else self.operands[operand]

    def _buffer(self, each: Kept, label: str, item: Node | None) -> None:
        """The array or list that keeps a value of all iterations."""
        outer, spec = self.outer, self.spec
        aval: Any = spec.body.outputs[each.output].aval  # type: ignore[union-attr]
        first = None
        if each.initial is not None:
            read: Any = spec.reads[each.initial]
            first = self.operands[read.operand]
            if first is None:
                first = self.operands[read.operand] = self._named(self.node.operands[read.operand])
        count = spec.trips + (first is not None)
        made: Any
        remark = f"{abbreviate(aval.dtype)}[{','.join(map(str, (count, *aval.shape)))}]" if each.stacked else None
        over = None if item is None else outer.stacks.get(item)
        if item in outer.held:
            made = name(outer.held[item])
            remark = f"{remark}, in {made.id}"
        elif over is not None:
            made = name(outer.names[over])
            remark = f"{remark}, reuses {outer.names[over]}"
        elif item in outer.buffers:
            made = name(outer.buffer_names[outer.buffers[item]])
            remark = f"{remark}, in {made.id}"
        elif each.stacked:
            made = empty(of_type((count, *aval.shape), aval.dtype))
        elif spec.downwards:
            made = gast.BinOp(gast.List([constant(None)], _LOAD), gast.Mult(), constant(count))
        else:
            made = gast.List([] if first is None else [first], _LOAD)
        line = gast.Assign([store(label)], made, None)
        outer.comments[line] = Comments((), remark)
        self.before.append(line)
        if each.stacked and first is not None:
            self.before.append(gast.Assign([gast.Subscript(name(label), constant(0), gast.Store())], first, None))

    def _named(self, x: Node) -> Any:
        outer = self.outer
        label = outer.namer.take(stem(x))
        self.before.append(gast.Assign([store(label)], outer._tree(x), None))
        outer.names[x] = label
        return name(label)


def empty(aval: Any) -> Any:
    """`np.empty((50, 16), np.float32)`."""
    dtype = [] if aval.dtype == np.float64 else [constant(aval.dtype)]
    return call("np.empty", constant(aval.shape if len(aval.shape) > 1 else aval.shape[0]), *dtype)


def _inner(spec: Loop) -> int:
    """The iterations of the loop in a body."""
    return next(int(node.kwargs["spec"].trips) for node in spec.body.nodes() if is_loop(node))


def _is_fresh(x: Node, outer: _Looping) -> bool:
    """Whether this is an array made for nothing but this loop."""
    made = x.prim is not None and (x.prim.elementwise or x.prim.name in ("matmul", "sum_to"))
    return made and x.shape != () and outer.read[x] == 1


class _Body(_Looping):
    """The emission of a body."""

    def __init__(self, outer: _Looping, node: Node, operands: Sequence[Any], kept: Sequence[tuple[Kept, str]]) -> None:
        spec: Loop = node.kwargs["spec"]
        super().__init__(spec.body, outer.plain, exact=outer.exact)
        if outer.large is not None and any(map(is_loop, spec.body.nodes())):
            self.large, self.again = outer.large, True
            self.statements = partition(spec.body, products=True, large=self.large, exact=self.exact)
        self.spec = spec
        self.namer = outer.namer
        self.comments = outer.comments
        self.names = {}
        self.kept = kept
        self.turns, self.depth = outer.turns, outer.depth + 1
        self.count = self.turn(outer.depth)
        self.turned = False
        self.first: list[Any] = []
        self.owners: dict[Node, int] = {}  # the carried variable that an output is assigned to at once
        self.variables: dict[int, str] = {}
        self.inputs = spec.body.inputs
        self.outputs: list[Any] = list(spec.body.outputs)
        self.stems = {label for _, label in kept} | {label.removesuffix("s") for _, label in kept}
        self.handed_on = {self.outputs[read.output] for _, read in spec.carried}
        self.accumulators = set()
        for k, carried in spec.carried:
            initial = node.operands[carried.operand]
            own = is_zeros(initial) or (_is_fresh(initial, outer) and count_reads(spec, carried.operand) == 1)
            if own and initial.aval is self.outputs[carried.output].aval:  # not smaller, to be broadcast
                self.accumulators.add(k)
        self.adopted_ones: set[int] = set()
        for k, (x, read) in enumerate(zip(self.inputs, spec.reads, strict=True)):
            if type(read) is Carried:
                initial = node.operands[read.operand]
                alone = outer.read[initial] == 1 and count_reads(spec, read.operand) == 1
                label = outer.names.get(initial, "")
                if initial.prim is not None and alone and without_number(label) == without_number(stem(x)):
                    self.adopted_ones.add(k)
                    self.variables[k] = self.names[x] = label
                else:
                    self.variables[k] = self.names[x] = self._take(stem(x))
            elif type(read) is Fixed:
                self.trees[x] = operands[read.operand]
            else:
                self._element(x, read, operands[read.operand])
        last_read: dict[Node, int] = {}
        for place, statement in enumerate(self.statements):
            for x in statement.reads:
                last_read[x] = place
        self.defined = defined = {statement.node: place for place, statement in enumerate(self.statements)}
        for k, read in spec.carried:
            out = self.outputs[read.output]
            x = self.inputs[k]
            if (
                out in defined
                and out not in self.owners
                and last_read.get(x, -1) <= defined[out]
                and x not in self.outputs
            ):
                self.owners[out] = k

    def adopted(self, k: int) -> bool:
        """Whether the variable behind input k is the one that holds its first value."""
        return k in self.adopted_ones

    def variable(self, k: int) -> str:
        """The name of the variable behind input k, which is carried."""
        return self.variables[k]

    def label(self, output: int) -> str:
        """The name of an output, after the loop."""
        return self.names[self.outputs[output]]

    def views(self) -> list[str]:
        """The variables that may be parts of arrays after the last iteration."""
        made = [
            self.names[self.outputs[each.output]] for each, _ in self.kept if self.outputs[each.output] in self.names
        ]
        return [*(line.targets[0].id for line in self.first), *made]

    def _take(self, wanted: str) -> str:
        """A name; `h_t` where the array of all values is called h."""
        return self.namer.take(f"{wanted}_{self.count}" if wanted in self.stems else wanted)

    def _element(self, node: Node, read: Any, base: Any) -> None:
        self.turned = True
        tree = gast.Subscript(base, element_index(read, self.count), _LOAD)
        uses = sum(x is node for each in self.program.nodes() for x in each.operands)
        if uses > 1 + (node.shape != ()) or node in self.outputs:
            label = self.names[node] = self._take(stem(node))
            line = gast.Assign([store(label)], tree, None)
            self.comments[line] = Comments((), str(node.aval))
            self.first.append(line)
        else:
            self.trees[node] = tree

    def _tree(self, node: Node) -> Any:
        return self.trees[node] if node in self.trees else super()._tree(node)

    def _operand(self, x: Node, user: Node) -> Any:
        return self.trees[x] if x in self.trees else super()._operand(x, user)

    def lines(self) -> list[Any]:
        """The statements of the body, then what the next iteration reads."""
        plan = self._plan()
        lines: list[Any] = list(self.first)
        for statement, into, dead in zip(self.statements, plan.into, plan.deleted, strict=True):
            lines += self._statement(statement, into, dead)
        for each, label in self.kept:
            out = self.outputs[each.output]
            if out not in self.defined:
                lines.append(self._stored(each, label, self._tree(out)))
        moves = [
            (self.variables[k], self._tree(self.outputs[read.output])) for k, read in self.spec.carried
            if self.owners.get(self.outputs[read.output]) != k
        ]  # fmt: skip
        moves = [(target, tree) for target, tree in moves if not (type(tree) is gast.Name and tree.id == target)]
        if len(moves) == 1:
            lines.append(gast.Assign([store(moves[0][0])], moves[0][1], None))
        elif moves:
            targets = gast.Tuple([store(target) for target, _ in moves], gast.Store())
            lines.append(gast.Assign([targets], gast.Tuple([tree for _, tree in moves], _LOAD), None))
        return lines

    def _statement(self, statement: Statement, into: Node | None, dead: tuple[Node, ...]) -> list[Any]:
        node = statement.node
        owner = self.owners.get(node)
        accumulated = owner is not None and self._accumulates(node, owner)
        lines = super()._statement(statement, into, dead)
        line = lines[0]
        simple = type(line) is gast.Assign and type(line.targets[0]) is gast.Name
        if simple:
            wanted = self.variables[owner] if owner is not None else None
            if wanted is None and statement.onto is None:
                if node in self.handed_on and node not in self.owners:
                    wanted = self.namer.take(f"next_{statement.label}")
                elif statement.label in self.stems:
                    wanted = self._take(statement.label)
            if wanted is not None:
                for each in lines[1:]:  # `np.add.at(total, ...)` after `total = np.zeros(...)`
                    renamed(each, self.names[node], wanted)
                line.targets[0] = store(wanted)
                self.names[node] = wanted
        elif owner is not None:
            self.owners.pop(node)
        if accumulated and simple:
            term = self._operand(node.operands[1], node)
            added = gast.AugAssign(store(self.names[node]), gast.Add(), term)
            self.comments[added] = self.comments.pop(line)
            lines[0] = added
            simple = False
        if statement.onto is None and self._grows_later(node):
            return lines
        for each, label in self.kept:
            if self.outputs[each.output] is not node:
                continue
            place = self._place(each)
            direct = simple and each.stacked and into is None and node.shape != () and _ufunc_of(line.value) is not None
            if direct and node.prim is not None and (node.prim.elementwise or node.prim.name == "matmul"):
                line.value = writing_into(line.value, gast.Subscript(name(label), place, _LOAD))
                simple = False
            else:
                # after what else makes the value: `np.add.at(total, ...)`
                end = next((k for k, made in enumerate(lines) if type(made) is gast.Delete), len(lines))
                lines.insert(end, self._stored(each, label, name(self.names[node])))
        return lines

    def _step(self, statement: Statement, defined: Collection[Node]) -> Step:
        owner = self.owners.get(statement.node)
        step = super()._step(statement, defined)
        if owner is None or not self._accumulates(statement.node, owner):
            return step
        return replace(step, memory=self.inputs[owner], fresh=False, writable=False)

    def _grows_later(self, node: Node) -> bool:
        """Whether a statement below still adds to the variable of a value."""
        return any(other.onto is not None and other.onto.node is node for other in self.statements)

    def _accumulates(self, node: Node, owner: int) -> bool:
        """Whether this adds to a variable that began as zeros of its own."""
        return bool(
            owner in self.accumulators and node.prim is not None and node.prim.name == "add" and node.shape != ()
            and node.operands[0] is self.inputs[owner] and node.operands[1] is not node.operands[0]
            and sum(x is self.inputs[owner] for each in self.program.nodes() for x in each.operands) == 1
            and all(self.outputs[each.output] is not node for each, _ in self.kept)
        )  # fmt: skip

    def _place(self, each: Kept) -> Any:
        self.turned = True
        return shifted(self.count, each.initial is not None)

    def _stored(self, each: Kept, label: str, value: Any) -> Any:
        if not each.stacked and not self.spec.downwards:
            return gast.Expr(method(name(label), "append", value))
        return gast.Assign([gast.Subscript(name(label), self._place(each), gast.Store())], value, None)


class _NumberLoops(_Numbers, _Looping):
    """Loops of statements that run on Python's floats."""


def _emit_number_loops(program: Program, doc: str | Header | None) -> str:
    """The text of `emit_numbers`, for loops."""
    used = {node.prim.name for node in operations(program) if node.prim is not None}
    functions = [each for each in FUNCTIONS if each in used]
    inner = Program(f"{program.name}_of_numbers", program.inputs, program.outputs)
    made = _NumberLoops(inner, functions)
    text = made.text(doc)
    arguments = [made.names[node] for node in program.inputs]
    result = call("rt.in_floats", name(inner.name), constant(tuple(functions)), *map(name, arguments))
    return f"{text}\n\n{made.outer(program.name, arguments, [gast.Return(result)])}"
