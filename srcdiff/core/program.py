"""The IR: a `Node` is one value of a program and the operation that defines it; a `Program` names inputs and outputs.

Grammar:
    program ::= name(inputs) -> outputs
    node    ::= input | literal | prim(nodes; params)
    output  ::= node | None                     None: a gradient that is zero by structure
Guarantees: nodes are immutable and compare by identity; operands are created before their users, so ids ascend along
every edge; dead code cannot exist, because `Program.nodes` walks back from the outputs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from srcdiff.core.primitive import Operand, Primitive


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """Where a value comes from in the user's program; all of it may be unknown. `site` is the tape's entry for it."""

    name: str | None = None
    file: str | None = None
    line: int | None = None
    text: str | None = None
    site: Any = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""


NOWHERE = Source()


class Maker(Protocol):
    """What makes the nodes of a program: `srcdiff.core.builder.Builder`."""

    source: Source

    def emit(self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Node:
        """The node for `prim(*operands, **params)`."""


@dataclass(frozen=True, eq=False, slots=True)
class Node(Operand):
    """One SSA value. `prim` is None for inputs and literals; a literal has its value in `literal`."""

    prim: Primitive | None
    operands: tuple[Node, ...]
    params: tuple[tuple[str, Hashable], ...]
    #: a tuple of avals for a primitive with several outputs
    aval: Any
    builder: Maker
    number: int
    source: Source = NOWHERE
    #: stem of the printed variable, if the user or the transformation named the value
    name: str | None = None
    literal: Any = None
    #: what to call the variable if one is needed and the value has no name
    hint: str | None = None

    _priority = 1

    def _bind(self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return self.builder.emit(prim, operands, params)

    @property
    def is_literal(self) -> bool:
        """Whether this is a constant written into the program."""
        return self.prim is None and self.literal is not None

    @property
    def is_input(self) -> bool:
        """Whether this is an input of the program."""
        return self.prim is None and self.literal is None

    @property
    def kwargs(self) -> dict[str, Any]:
        """The parameters as keyword arguments."""
        return dict(self.params)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.aval.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """dtype of the value."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """Number of axes of the value."""
        return self.aval.ndim  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        raise TypeError("a value of a program under construction has no truth value; use `where`")

    def __repr__(self) -> str:
        if self.is_literal:
            return repr(self.literal)
        return f"%{self.number}" + (f":{self.name}" if self.name else "")


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A function over arrays."""

    name: str
    inputs: tuple[Node, ...]
    outputs: tuple[Node | None, ...]
    _nodes: list[tuple[Node, ...]] = field(init=False, repr=False, default_factory=list)

    def nodes(self) -> tuple[Node, ...]:
        """What the outputs need, operands before users; inputs and literals included."""
        if not self._nodes:
            self._nodes.append(reachable(out for out in self.outputs if out is not None))
        return self._nodes[0]

    def __str__(self) -> str:
        return format_program(self)


def reachable(roots: Iterable[Node], outside: Iterable[Node] = ()) -> tuple[Node, ...]:
    """The roots and all they depend on, in order of creation; without `outside`, and what that depends on."""
    before = {node.number: node for node in outside}
    seen = dict(before)
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.number not in seen:
            seen[node.number] = node
            stack.extend(node.operands)
    return tuple(seen[number] for number in sorted(seen.keys() - before.keys()))


def format_program(program: Program) -> str:
    """The text form, meant to be read in a diff."""
    names: dict[Node, str] = {}
    taken: set[str] = set()

    def name(node: Node) -> str:
        if node.is_literal:
            return repr(node.literal)
        if node not in names:
            stem = node.name or (node.prim.name if node.prim else "x")
            label, k = stem, 2
            while label in taken:
                label, k = f"{stem}_{k}", k + 1
            taken.add(label)
            names[node] = label
        return names[node]

    header = ", ".join(f"{name(node)}: {node.aval}" for node in program.inputs)
    rows = []
    for node in program.nodes():
        if node.prim is None:
            continue
        arguments = [name(operand) for operand in node.operands]
        arguments += [f"{key}={_show(value)}" for key, value in node.params]
        aval = node.aval if not isinstance(node.aval, tuple) else ", ".join(map(str, node.aval))
        rows.append((f"{name(node)} = {node.prim.name}({', '.join(arguments)})", str(aval), str(node.source)))
    widths = [max((len(row[k]) for row in rows), default=0) for k in (0, 1)]
    lines = [f"program {program.name}({header})"]
    lines += [f"  {a:{widths[0]}s}  {b:{widths[1]}s}  {c}".rstrip() for a, b, c in rows]
    lines.append("  return " + ", ".join("None" if out is None else name(out) for out in program.outputs))
    return "\n".join(lines)


def _show(value: Any) -> str:
    return str(value) if not callable(value) else getattr(value, "__name__", repr(value))
