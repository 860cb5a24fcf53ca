"""From a Program to the function a careful person would have written for it.

Guarantees: the function takes the program's inputs in order and returns its outputs; every statement computes
values that later statements or the result use; the user's line stands above the statements that come from it, and
the type of each value behind it. With `plain` nothing is said about memory; without it, operations on large arrays
write into arrays that are no longer needed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import gast
import numpy as np

from srcdiff.codegen.arena import affordable, buffered, declaration, giving, taking
from srcdiff.codegen.header import Header, docstring
from srcdiff.codegen.idioms import adds_up, index_tree, number, written, zeros
from srcdiff.codegen.namer import Namer
from srcdiff.codegen.printer import Comments, Note, to_source
from srcdiff.codegen.quick import reductions_as_methods
from srcdiff.codegen.statements import LARGE, Statement, partition
from srcdiff.codegen.template import call, constant, definition, expression, name, parameter, store, subscript
from srcdiff.core.program import Node, Program, Source
from srcdiff.transform.schedule import Plan, Step, schedule

#: statements of one function; longer ones are split into parts
LONGEST = 5_000
PART = 2_500
QUICK = 3 << 10  # bytes; where only speed counts, an array of this size is worth memory that the cache still has
LIGHT = 64  # bytes of an array that is not left lying about, then, where larger ones are made
_TEXT = 88  # longest user's line shown

_UFUNCS = {
    "Add": "np.add", "Sub": "np.subtract", "Mult": "np.multiply", "Div": "np.divide", "USub": "np.negative",
    "MatMult": "np.matmul",
}  # fmt: skip


def emit(
    program: Program, doc: str | Header | None = None, plain: bool = False, quick: bool = False, exact: bool = False
) -> str:
    """The text of a function (after its parts, if it is long) that computes the program's outputs from its inputs.

    With `quick` it is written for speed where there are several ways to say the same; with `exact` it adds up in the
    order of the program.
    """
    function = _Function(program, plain, exact=exact)
    if quick and not plain:
        function.hurry()
    return function.text(doc)


class _Function:
    """The state of one emission."""

    quick = False
    #: the statements are those of a loop, whose memory is planned
    again = False
    #: from how many bytes on an array is worth a buffer, if not from LARGE on
    large: int | None = None

    def __init__(self, program: Program, plain: bool, reserved: Sequence[str] = (), exact: bool = False) -> None:
        self.program = program
        self.exact = exact
        self.namer = Namer()
        for each in (program.name, *reserved):
            self.namer.take(each)
        #: names of inputs and of what has a statement
        self.names: dict[Node, str] = {}
        self.comments: dict[Any, Comments] = {}
        self.statements = partition(program, buffers=not plain, exact=exact)
        self.plain = plain
        #: for each value that lives in a buffer kept from call to call, the first one that does; and the names of these
        self.buffers: dict[Node, Node] = {}
        self.buffer_names: dict[Node, str] = {}
        #: for each array that a loop fills, the value whose memory it takes; None for memory of its own
        self.stacks: dict[Node, Node | None] = {}
        for node in program.inputs:
            self.names[node] = self.namer.take(node.name or "x")
        items: dict[Node, list[Node]] = {}
        for node in program.nodes():
            if node.prim is not None and node.prim.name == "item":
                items.setdefault(node.operands[0], []).append(node)
        self.items = items
        self.shown: Source | None = None

    def hurry(self, large: int | None = None) -> None:
        """Write for speed; arrays of so many bytes get planned memory."""
        self.quick, self.large = True, min(QUICK, LARGE) if large is None else large

    # --------------------------------------------------------------------------------------------------- the function

    def text(self, doc: str | Header | None) -> str:
        if self.quick:
            self.statements = partition(self.program, products=True, large=self.large, exact=self.exact)
        plan = self._plan()
        blocks: list[list[Any]] = []
        for statement, into, dead in zip(self.statements, plan.into, plan.deleted, strict=True):
            blocks.append(self._statement(statement, into, dead))
        results = [constant(None) if out is None else self._tree(out) for out in self.program.outputs]
        returned = gast.Return(gast.Tuple(results, gast.Load()))
        if self.quick:
            for line in (returned, *(line for block in blocks for line in block)):
                reductions_as_methods(line)
        parts: list[str] = []
        if len(blocks) > LONGEST:
            parts, blocks = self._split(blocks, returned)
        body = [line for block in blocks for line in block] + [returned]
        if self.buffers:
            parts.insert(0, self._lend(body))
        if doc:
            text = doc if isinstance(doc, str) else docstring(doc, self.program, self.names)
            body.insert(0, gast.Expr(gast.Constant(text, None)))
        arguments = [self.names[node] for node in self.program.inputs]
        return "\n\n".join([*parts, self._def(self.program.name, arguments, body)])

    def _def(self, called: str, arguments: Sequence[str], body: list[Any]) -> str:
        tree = definition(called, [parameter(argument) for argument in arguments], body)
        return to_source(tree, self.comments)

    def _split(self, blocks: list[list[Any]], returned: Any) -> tuple[list[str], list[list[Any]]]:
        """Functions of a part of the statements each, and the calls of them."""
        groups = [[line for block in blocks[k : k + PART] for line in block] for k in range(0, len(blocks), PART)]
        known = {self.names[node] for node in self.program.inputs}
        reads = [_variables(group, gast.Load) for group in groups]
        writes = [_variables(group, gast.Store) for group in groups]
        wanted: list[set[str]] = []
        after = set(_variables([returned], gast.Load))
        for k in range(len(groups) - 1, -1, -1):
            wanted.insert(0, set(after))
            after |= set(reads[k])
        texts, calls = [], []
        inputs = set(known)
        for k, group in enumerate(groups):
            group = _with_deletions_of(group, {*reads[k], *writes[k]})
            called = self.namer.take(f"{self.program.name}_part{k + 1}")
            taken = [each for each in reads[k] if each in known]
            given = [each for each in writes[k] if each in wanted[k]]
            known.update(given)
            end = gast.Return(gast.Tuple([name(each) for each in given], gast.Load()))
            texts.append(self._def(called, taken, [*group, end]))
            target = gast.Tuple([store(each) for each in given], gast.Store())
            lines: list[Any] = [gast.Assign([target], call(called, *map(name, taken)), None)]
            dead = [each for each in taken if each not in inputs and each not in wanted[k]]
            if dead:
                lines.append(deletion(dead))
            calls.append(lines)
        return texts, calls

    # ------------------------------------------------------------------------------------------------- one statement

    def _statement(self, statement: Statement, into: Node | None, dead: tuple[Node, ...]) -> list[Any]:
        node = statement.node
        remark = str(node.aval) if not isinstance(node.aval, tuple) else ", ".join(map(str, node.aval))
        if statement.onto is not None:
            self.names[node] = self.names[statement.onto.node]
            lines = self._added(statement)
        elif node in self.items:
            lines = [self._unpacked(node)]
        elif node.prim is not None and node.prim.name == "scatter" and not adds_up(node):
            label = self.names[node] = self.namer.take(statement.label)
            lines = [gast.Assign([store(label)], zeros(node), None), self._placed(node, label, first=True)]
        else:
            tree = self._tree(node)
            if node in self.buffers and into is None:
                buffer = self.buffer_names[self.buffers[node]]
                tree = _with_out(tree, buffer)
                remark += f", in {buffer}"
            elif into is not None:
                tree = _with_out(tree, self.names[into])
                remark += f", reuses {self.names[into]}"
            label = self.names[node] = self.namer.take(statement.label)
            lines = [gast.Assign([store(label)], tree, None)]
        self.comments[lines[0]] = Comments(self._heading(node.source), remark)
        dead = tuple(each for each in dead if each not in self.buffers)
        if dead:
            lines.append(deletion(dict.fromkeys(self.names[each] for each in dead)))
        return lines

    def _added(self, statement: Statement) -> list[Any]:
        label, term = self.names[statement.node], statement.term
        assert term is not None
        if term.prim is not None and term.prim.name == "scatter" and term not in self.names and not adds_up(term):
            return [self._placed(term, label, first=False)]
        return [gast.AugAssign(store(label), gast.Add(), self._operand(term, statement.node))]

    def _placed(self, node: Node, label: str, first: bool) -> Any:
        """`label[index] = value`, or `+=`; by np.add.at where an element may be meant twice."""
        given, *indices = node.operands
        if given.prim is not None and given.prim.name == "broadcast_to" and given not in self.names:
            given = given.operands[0]  # assignment broadcasts
        value, *dynamic = (self._operand(x, node) for x in (given, *indices))
        params = node.kwargs
        where = subscript(params["index"], dynamic)
        if not params["unique"]:
            return gast.Expr(call("np.add.at", name(label), index_tree(where), value))
        target = gast.Subscript(name(label), where, gast.Store())
        return gast.Assign([target], value, None) if first else gast.AugAssign(target, gast.Add(), value)

    def _unpacked(self, node: Node) -> Any:
        """`u, s, vt = ...` with a name for each output that is used."""
        targets: list[Any] = [store("_") for _ in node.aval]
        tree = self._tree(node)
        for each in self.items[node]:
            label = self.names[each] = self.namer.take(each.name or f"{node.prim.name}_{each.kwargs['k']}")  # type: ignore[union-attr]
            targets[each.kwargs["k"]] = store(label)
        return gast.Assign([gast.Tuple(targets, gast.Store())], tree, None)

    def _heading(self, source: Source) -> tuple[Note, ...]:
        """The user's line, unless it is the one shown last."""
        if not source.text:
            return ()
        last = self.shown
        if last is not None and (last.text, last.line, last.file) == (source.text, source.line, source.file):
            return ()
        self.shown = source
        text = " ".join(source.text.split())
        text = text if len(text) <= _TEXT else text[: _TEXT - 4] + " ..."
        return (Note(text, f"{os.path.basename(source.file)}:{source.line}" if source.file else ""),)

    # ----------------------------------------------------------------------------------------------------- expressions

    def _tree(self, node: Node) -> Any:
        known = self.names.get(node)
        if known is not None:
            return name(known)
        if node.prim is None:
            return constant(node.literal)
        return written(node, [self._operand(x, node) for x in node.operands], self.quick, self.exact)

    def _operand(self, x: Node, user: Node) -> Any:
        known = self.names.get(x)
        if known is not None:
            return name(known)
        return number(x, user) if x.is_literal else self._tree(x)

    # ---------------------------------------------------------------------------------------------------------- memory

    def _plan(self) -> Plan:
        count = len(self.statements)
        large = LARGE if self.large is None else self.large
        filled = [x for statement in self.statements for x in self._filled(statement)]
        if self.plain or not any(_bytes(x) >= large for x in (*filled, *(each.node for each in self.statements))):
            return Plan((None,) * count, ((),) * count)
        defined = {statement.node for statement in self.statements}
        groups = [self._steps(each, defined) for each in self.statements]
        steps = [step for group in groups for step in group]
        kept = self._kept()
        plan = schedule(steps, kept, large, self.again, LIGHT if self.quick else None)
        if self.quick and count <= LONGEST:
            able = [s.defines for s in steps if s.writable or (s.fresh and s.defines.prim.name == "matmul")]  # type: ignore[union-attr]
            self.buffers = affordable(steps, plan, kept, buffered(steps, plan, kept, able, large))
            for first in dict.fromkeys(self.buffers.values()):
                self.buffer_names[first] = self.namer.take(f"buffer_{len(self.buffer_names) + 1}")
        return self._by_statement(groups, plan)

    def _by_statement(self, groups: Sequence[Sequence[Step]], plan: Plan) -> Plan:
        """The plan of steps as one of statements: the last step of each is its own, those before it fill arrays."""
        into: list[Node | None] = []
        deleted: list[tuple[Node, ...]] = []
        stop = 0
        for group in groups:
            start, stop = stop, stop + len(group)
            self.stacks.update({step.defines: plan.into[start + k] for k, step in enumerate(group[:-1])})
            into.append(plan.into[stop - 1])
            deleted.append(tuple(x for each in plan.deleted[start:stop] for x in each))
        return Plan(tuple(into), tuple(deleted))

    def _filled(self, statement: Statement) -> list[Node]:
        """Arrays that a statement makes beside the value it defines."""
        return []

    def _steps(self, statement: Statement, defined: set[Node]) -> list[Step]:
        return [self._step(statement, defined)]

    def _lend(self, body: list[Any]) -> str:
        """Let a function take its buffers first and give them back in the end; the text that makes them."""
        arena, lent = self.namer.take("buffers"), self.namer.take("lent")
        body.insert(0, taking(arena, lent, list(self.buffer_names.values())))
        body.insert(-1, giving(arena, lent))
        return to_source(declaration(arena, list(self.buffer_names)))

    def _kept(self) -> list[Node]:
        return [out for out in self.program.outputs if out is not None]

    def _step(self, statement: Statement, defined: Collection[Node]) -> Step:
        node = statement.node
        prim = node.prim
        assert prim is not None
        if statement.onto is not None:
            return Step(node, statement.reads, statement.onto.node, False, False)
        base = node
        while base.prim is not None and base.prim.view and (base is node or base not in defined):
            base = base.operands[0]
        if prim.multi or base.prim is None or base.prim.name == "item":
            return Step(node, statement.reads, base if base is not node else node, False, False)
        fresh = base is node and node.shape != ()
        fresh = fresh and (prim.elementwise or prim.name in ("matmul", "scatter", "scatter_scaled"))
        writable = fresh and prim.elementwise and _ufunc(node) is not None
        return Step(node, statement.reads, base if base in defined else node, fresh, writable)


def _bytes(node: Node) -> int:
    return 0 if isinstance(node.aval, tuple) else int(node.aval.nbytes)


def _ufunc(node: Node) -> str | None:
    """The ufunc that an elementwise primitive's expression calls, if it is one."""
    assert node.prim is not None
    return _ufunc_of(expression(node.prim))


def _ufunc_of(tree: Any) -> str | None:
    if type(tree) in (gast.BinOp, gast.UnaryOp):
        return _UFUNCS.get(type(tree.op).__name__)
    if type(tree) is gast.Call and type(tree.func) is gast.Attribute and not tree.keywords:
        owner = tree.func.value
        if type(owner) is gast.Name and owner.id == "np" and isinstance(getattr(np, tree.func.attr, None), np.ufunc):
            return f"np.{tree.func.attr}"
    return None


def _with_out(tree: Any, buffer: str) -> Any:
    """The same operation writing into `buffer`."""
    function = _ufunc_of(tree)
    assert function is not None
    if type(tree) is gast.BinOp:
        args = [tree.left, tree.right]
    else:
        args = [tree.operand] if type(tree) is gast.UnaryOp else tree.args
    return call(function, *args, out=name(buffer))


def deletion(names: Iterable[str]) -> Any:
    """`del x, y`."""
    return gast.Delete([gast.Name(each, gast.Del(), None, None) for each in names])


def _with_deletions_of(lines: Sequence[Any], local: Collection[str]) -> list[Any]:
    """The statements without deletions of other variables than these."""
    kept: list[Any] = []
    for line in lines:
        if type(line) is gast.Delete:
            names = [target.id for target in line.targets if target.id in local]
            kept += [deletion(names)] if names else []
        else:
            kept.append(line)
    return kept


def _variables(lines: Sequence[Any], context: Any) -> list[str]:
    """The variables read (or assigned) in some statements, in order; one that is updated is both."""
    found: dict[str, None] = {}
    for line in lines:
        for part in gast.walk(line):
            if type(part) is gast.Name and part.id not in ("np", "rt", "_"):
                updated = type(line) is gast.AugAssign and part is line.target
                if type(part.ctx) is context or updated:
                    found[part.id] = None
    return list(found)
