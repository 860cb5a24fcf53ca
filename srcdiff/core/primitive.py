"""Primitives: one frozen record per operation, and `Operand`, the base of everything a primitive can be applied to.

A primitive's `expr` is the single source of its value (`eval`) and of its printed form. Calling a primitive on arrays
evaluates it; if any operand is an `Operand` (an IR node or a Tensor) that operand's `bind` decides what happens.
Derivative rules are ordinary functions that call primitives, so the same rule runs on arrays, on nodes and on Tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srcdiff import runtime
from srcdiff.errors import SrcdiffError

#: (ct, out, *operands, **params) -> the cotangent of one operand. Operands (and `out`) that the primitive does not
#: save arrive as their Aval, good for shapes and dtypes only.
VjpRule = Callable[..., Any]
#: (*avals, **params) -> Aval, or a tuple of them for a primitive with several outputs
InferRule = Callable[..., Any]
#: (builder, operands, params) -> a simpler node, or None
FoldRule = Callable[..., Any]
Saves = tuple[frozenset[str], ...]

REGISTRY: dict[str, Primitive] = {}


@dataclass(frozen=True, eq=False, slots=True)
class Primitive:
    """One operation. See `ops/families.py` for the constructors that fill most of this in.

    `fast`, if given, is evaluated instead of `expr`: the same value, bit for bit, with less of NumPy's Python in
    between.
    """

    name: str
    args: tuple[str, ...]
    params: tuple[str, ...]
    expr: str
    infer: InferRule
    #: one rule per operand (None: no derivative); a single rule taking the operand's number first if variadic
    vjps: tuple[VjpRule | None, ...] | VjpRule | None
    #: for each operand, what its rule reads, among the operand names and "out"; a function finds it out when asked
    reads: Saves | Callable[[], Saves]
    label: str = ""
    #: the label where it depends on the parameters
    label_of: Callable[[dict[str, Any]], str] | None = None
    #: the result may share memory with the first operand
    view: bool = False
    #: the result is a tuple
    multi: bool = False
    #: outputs, of several, that no rule reads
    unread: frozenset[int] = frozenset()
    #: elementwise: the result has the broadcast shape of the operands, each element computed from theirs
    elementwise: bool = False
    #: "each": linear in each operand that has a rule, the others held fixed; "all": in all of these together
    linear: str = ""
    #: (t, out, *operands, **params) -> the tangent of the result along that of the first operand, where `vjps` is not
    #: made of operations that are linear in the cotangent
    push: VjpRule | None = None
    #: rules of the square of the result, where that is smooth and the result is not: norms and other roots
    squared: tuple[VjpRule, ...] | None = None
    #: the rules hold for real operands only; complex ones are refused where they need a gradient
    real: bool = False
    #: some entries of an operand may have no part in the result: `ops.zeros`
    selects: bool = False
    #: the slope is infinite at some finite operand
    singular: bool = False
    fold: FoldRule | None = None
    doc: str = ""
    #: why there is no derivative, for those without
    reason: str = ""
    fast: str = ""
    eval: Callable[..., Any] = field(init=False)

    def __post_init__(self) -> None:
        def first(*operands: Any, **params: Any) -> Any:
            return self.evaluator()(*operands, **params)

        object.__setattr__(self, "eval", first)  # compiled when it is needed: three hundred at import take 10 ms
        if not self.label:
            object.__setattr__(self, "label", "".join(word.capitalize() for word in self.name.split("_")))
        if self.name in REGISTRY:
            raise SrcdiffError(f"primitive {self.name} is declared twice")
        REGISTRY[self.name] = self

    def evaluator(self) -> Callable[..., Any]:
        """`eval` in its final form, for whoever keeps it."""
        if self.eval.__name__ == "first":
            signature = ", ".join((*self.args, *(("*",) if self.params and not self.variadic else ()), *self.params))
            evaluate = eval(f"lambda {signature}: {self.fast or self.expr}", {"np": np, "rt": runtime})
            object.__setattr__(self, "eval", evaluate)
        return self.eval

    @property
    def variadic(self) -> bool:
        """Whether the primitive takes any number of operands (its one `args` entry is `*xs`)."""
        return self.args[-1].startswith("*")

    def __call__(self, *operands: Any, **params: Any) -> Any:
        """Evaluate on arrays; build on nodes; evaluate and record on Tensors."""
        for operand in operands:
            if isinstance(operand, Operand):
                best = operand
                for other in operands:
                    if isinstance(other, Operand) and other._priority > best._priority:
                        best = other
                return best._bind(self, operands, params)
        return self.eval(*operands, **params)

    def rule(self, k: int) -> VjpRule | None:
        """The rule for operand k, or None."""
        vjps = self.vjps
        if vjps is None:
            return None
        if callable(vjps):
            if k < self.fixed:
                return None

            def nth(ct: Any, out: Any, *operands: Any, **params: Any) -> Any:
                return vjps(k, ct, out, *operands, **params)

            return nth
        return vjps[k] if k < len(vjps) else None

    @property
    def fixed(self) -> int:
        """How many leading operands of a variadic primitive have no rule."""
        return 0

    @property
    def saves(self) -> Saves:
        """For each operand, what its rule reads, among the operand names and "out"."""
        if callable(self.reads):
            object.__setattr__(self, "reads", self.reads())
        return self.reads  # type: ignore[return-value]

    def saved_for(self, k: int) -> frozenset[str]:
        """What the rule for operand k reads."""
        saves = self.saves
        if not saves:
            return frozenset()
        return saves[k] if k < len(saves) else saves[-1]

    def operand_name(self, k: int) -> str:
        """The name of operand k in `saves`; operands of a variadic primitive are called 0, 1, 2 ..."""
        return str(k) if self.variadic and k >= len(self.args) - 1 else self.args[k]

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_named, (self.name,))


def _named(name: str) -> Primitive:
    return REGISTRY[name]


class Operand:
    """What a primitive can be applied to besides arrays: an IR node or a Tensor.

    Holds Python's arithmetic operators; each looks its primitive up by name, so `core` does not depend on `ops`.
    """

    __slots__ = ()
    #: among mixed operands, the one with the highest priority binds
    _priority = 0
    __array_priority__ = 1000

    def _bind(self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return REGISTRY["add"](self, other)

    def __radd__(self, other: Any) -> Any:
        return REGISTRY["add"](other, self)

    def __sub__(self, other: Any) -> Any:
        return REGISTRY["sub"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return REGISTRY["sub"](other, self)

    def __mul__(self, other: Any) -> Any:
        return REGISTRY["mul"](self, other)

    def __rmul__(self, other: Any) -> Any:
        return REGISTRY["mul"](other, self)

    def __truediv__(self, other: Any) -> Any:
        return REGISTRY["div"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return REGISTRY["div"](other, self)

    def __pow__(self, other: Any) -> Any:
        return REGISTRY["pow"](self, other)

    def __rpow__(self, other: Any) -> Any:
        return REGISTRY["pow"](other, self)

    def __matmul__(self, other: Any) -> Any:
        return REGISTRY["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return REGISTRY["matmul"](other, self)

    def __neg__(self) -> Any:
        return REGISTRY["neg"](self)

    def __lt__(self, other: Any) -> Any:
        return REGISTRY["less"](self, other)

    def __le__(self, other: Any) -> Any:
        return REGISTRY["less_equal"](self, other)

    def __gt__(self, other: Any) -> Any:
        return REGISTRY["greater"](self, other)

    def __ge__(self, other: Any) -> Any:
        return REGISTRY["greater_equal"](self, other)
