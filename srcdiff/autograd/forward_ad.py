"""Forward derivatives by dual numbers, as in PyTorch.

    with dual_level():
        y = f(make_dual(x, tangent))
        value, derivative = unpack_dual(y)

Operations on dual tensors are recorded, also in `no_grad` mode, and `unpack_dual` pushes the tangents through what was
recorded; so all that has a derivative works, and a dual tensor says that it requires grad.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from srcdiff.autograd.modes import decorate
from srcdiff.autograd.pushing import Pushforward
from srcdiff.errors import ArgumentError, AutogradError
from srcdiff.size import Size
from srcdiff.tape import record
from srcdiff.tape.lower import collect
from srcdiff.tape.modes import modes
from srcdiff.tape.node import LEAF, AccumulateGrad, Edge, GradNode, next_seq
from srcdiff.tape.storage import share
from srcdiff.tape.value import TensorBase

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent, which is None if there is none."""

    primal: Any
    tangent: Any


class Level:
    """One entry of a dual level; identifies the tangents that were made in it. What these go through may be
    overwritten; `mutation_allowed` says whether that was so before.
    """

    __slots__ = ("mutation_allowed",)

    def __init__(self, mutation_allowed: bool) -> None:
        self.mutation_allowed = mutation_allowed


class DualNode(GradNode):
    """Where a tangent enters the graph; gradients go on to the primal. With `tangent` None: where tangents end."""

    __slots__ = ("level", "open", "tangent")

    def __init__(self, edge: Edge, tangent: Any, level: Level | None) -> None:
        self.site = LEAF
        self.inputs = () if edge is None else (edge,)
        self.saved = ()
        self.seq = next_seq()
        self.tangent = tangent
        self.level = level
        self.open = True

    @property
    def next_functions(self) -> tuple[tuple[GradNode | None, int], ...]:
        """Where gradients go."""
        return tuple(edge if type(edge) is tuple else (edge, 0) for edge in self.inputs)

    def apply(self, ct: Any, create_graph: bool) -> list[Any]:
        """Pass on what arrives, unless tangents are being looked for."""
        return [ct if self.open else None] * len(self.inputs)


def enter_dual_level() -> int:
    """Open a level; `make_dual` works from here on. Raises AutogradError if one is open: levels do not nest."""
    if modes.dual:
        raise AutogradError("Nested forward mode AD is not supported at the moment")
    modes.update(dual=Level(modes.mutation_allowed), mutation_allowed=True)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; its tangents are gone."""
    if not modes.dual or level not in (None, 0):
        raise AutogradError(
            "Trying to exit a forward AD level that was not entered: dual levels must be closed in order."
        )
    modes.update(dual=None, mutation_allowed=modes.dual.mutation_allowed)


class dual_level:  # noqa: N801
    """The level as a context manager or decorator."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: Any) -> None:
        exit_dual_level()

    def __call__(self, function: Any) -> Any:
        return decorate(function, dual_level)


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A tensor on the memory of `tensor` that carries `tangent`, of the same shape. Raises AutogradError outside a
    level.
    """
    if not modes.dual:
        raise AutogradError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, each in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(each, TensorBase):
            raise ArgumentError(f"Expected {name} to be a Tensor, but got: {type(each).__name__}")
        if each._value.dtype.kind not in "fc":
            raise ArgumentError(f"Expected {name} to be floating point or complex, but got: {each._value.dtype}")
    if tangent._value.shape != tensor._value.shape:
        raise AutogradError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(Size(tensor._value.shape))} while the given forward gradient is of "
            f"size {list(Size(tangent._value.shape))}."
        )
    if tangent._value.dtype.kind == "c" and tensor._value.dtype.kind != "c":
        raise ArgumentError(f"Expected tangent of a {tensor._value.dtype} Tensor to be real, but got a complex one")
    if _duals(tensor._edge)[0]:
        raise AutogradError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    if _duals(tangent._edge)[0]:
        raise AutogradError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not supported."
        )
    return _on_same_memory(tensor, DualNode(tensor._edge, tangent, modes.dual))


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor without its tangent, and the tangent: the derivative along the tangents it depends on."""
    found, ends = _duals(tensor._edge) if modes.dual else ([], [])
    if not found:
        return UnpackedDualTensor(tensor, None)
    create_graph = modes.grad and any(
        type(node) is AccumulateGrad
        for edge in (tensor._edge, *(dual.tangent._edge for dual in found))
        if edge is not None
        for node in collect([edge])
    )
    for end in ends:
        end.open = False
    try:
        (tangent,) = Pushforward([tensor], found).tensors([dual.tangent for dual in found], create_graph)
    finally:
        for end in ends:
            end.open = True
    grounded = create_graph and any(type(node) is AccumulateGrad for node in collect([tensor._edge]))
    primal = _on_same_memory(tensor, DualNode(tensor._edge, None, None) if grounded else None)
    return UnpackedDualTensor(primal, tangent)


def _duals(edge: Edge) -> tuple[list[DualNode], list[DualNode]]:
    """The nodes through which tangents of the present level reach an edge, and those where a search for them ends."""
    found: list[DualNode] = []
    ends: list[DualNode] = []
    seen: set[int] = set()
    stack = [] if edge is None else [edge]
    while stack:
        edge = stack.pop()
        node = edge[0] if type(edge) is tuple else edge
        if id(node) in seen:
            continue
        seen.add(id(node))
        if type(node) is DualNode:
            (found if node.level is modes.dual else ends).append(node)
            continue
        stack.extend(edge for edge in node.inputs if edge is not None)
    return found, ends


def _on_same_memory(tensor: Any, node: DualNode | None) -> Any:
    out = record.plain(tensor.materialise(), tensor._traced)
    share(out, tensor)
    out._edge = node
    return out
