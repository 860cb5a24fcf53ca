"""What the laws are stated in: rules run by hand, programs made of them, and derivatives by differences.

Nothing here uses `srcdiff.transform`: the reverse mode below is twenty lines, on arrays, and serves as an oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff.aval import SCALARS, aval_of
from srcdiff.core.builder import Builder, interpret
from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node, Program
from srcdiff.ops.structural import fit
from tests.ops.sample import Sample

Array = np.ndarray[Any, Any]


def differentiated(prim: Primitive, values: Sequence[Any]) -> list[int]:
    """The operands with a rule whose values can carry a gradient."""
    return [
        k for k, v in enumerate(values) if prim.rule(k) is not None and type(v) not in SCALARS and v.dtype.kind in "fc"
    ]


def raw_pull_back(prim: Primitive, k: int, ct: Any, out: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """What the rule for operand k returns; what it may not read is replaced by its aval."""
    rule = prim.rule(k)
    assert rule is not None
    saved = prim.saved_for(k)
    seen = [v if type(v) in SCALARS or prim.operand_name(j) in saved else _aval(v) for j, v in enumerate(operands)]
    return rule(ct, out if "out" in saved else _aval(out), *seen, **params)


def _aval(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(aval_of, value))
    return value.aval if isinstance(value, Node) else aval_of(value)


def pull_back(prim: Primitive, k: int, ct: Any, out: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """The cotangent of operand k, None where it is zero by structure."""
    made = raw_pull_back(prim, k, ct, out, operands, params)
    return None if made is None else fit(made, operands[k])


def vjp_program(prim: Primitive, sample: Sample, cts: Any) -> tuple[Program, tuple[Any, ...]]:
    """The program (cotangents, array operands) -> cotangents of the operands, and the values it starts from."""
    builder = Builder()
    values = sample.values()
    parts = cts if isinstance(cts, tuple) else (cts,)
    ct_nodes = [None if ct is None else builder.input(aval_of(ct)) for ct in parts]
    operands = [v if type(v) in SCALARS else builder.input(aval_of(v)) for v in values]
    out = prim(*operands, **sample.params)
    ct = tuple(ct_nodes) if prim.multi else ct_nodes[0]
    outputs = []
    for k in differentiated(prim, values):
        made = pull_back(prim, k, ct, out, operands, sample.params)
        outputs.append(None if made is None else builder.lift(made))
    inputs = tuple(node for node in [*ct_nodes, *operands] if isinstance(node, Node))
    start = tuple(v for v in [*parts, *values] if v is not None and type(v) not in SCALARS)
    return Program("vjp", inputs, tuple(outputs)), start


def program_pull_back(program: Program, values: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """Reverse mode on arrays: cotangents of the program's inputs (None: zero)."""
    env: dict[Node, Any] = dict(zip(program.inputs, values, strict=True))
    nodes = program.nodes()
    for node in nodes:
        if node not in env:
            env[node] = (
                node.literal if node.prim is None else node.prim.eval(*(env[o] for o in node.operands), **node.kwargs)
            )
    found: dict[Node, Any] = {}

    def add(node: Node, ct: Any) -> None:
        if node.prim is not None and node.prim.name == "item":
            parts = found.setdefault(node.operands[0], [None] * len(node.operands[0].aval))
            k = node.kwargs["k"]
            parts[k] = ct if parts[k] is None else parts[k] + ct
        else:
            found[node] = found[node] + ct if node in found else ct

    for out, ct in zip(program.outputs, cts, strict=True):
        if out is not None:
            add(out, ct)
    for node in reversed(nodes):
        if node.prim is None or node not in found:
            continue
        ct = tuple(found[node]) if node.prim.multi else found[node]
        operands = [env[o] for o in node.operands]
        for k in differentiated(node.prim, operands):
            made = pull_back(node.prim, k, ct, env[node], operands, node.kwargs)
            if made is not None:
                add(node.operands[k], made)
    return [found.get(node) for node in program.inputs]


def pairing(xs: Any, ys: Any) -> float:
    """The real inner product of two arrays, or tuples of arrays; None counts as zero."""
    if isinstance(xs, (tuple, list)):
        return sum(pairing(x, y) for x, y in zip(xs, ys, strict=True))
    return 0.0 if xs is None or ys is None else float(np.sum(np.conj(xs) * ys).real)


def direction(value: Any, rng: np.random.Generator) -> Any:
    """A random array like `value`, or None if that cannot change by a little."""
    if type(value) in SCALARS or value.dtype.kind not in "fc":
        return None
    step = rng.standard_normal(value.shape)
    if value.dtype.kind == "c":
        step = step + 1j * rng.standard_normal(value.shape)
    return np.asarray(step, value.dtype)


def cotangent(out: Any, rng: np.random.Generator) -> Any:
    """A random cotangent for a result; None for outputs that carry none."""
    if isinstance(out, tuple):
        return tuple(direction(np.asarray(part), rng) for part in out)
    return direction(np.asarray(out), rng)


def slope(f: Callable[[float], float], h: float = 1e-3) -> float:
    """f'(0) by the central difference of sixth order: for smooth f of order 1 exact to about 1e-12."""
    first, second, third = (f(k * h) - f(-k * h) for k in (1, 2, 3))
    return (45.0 * first - 9.0 * second + third) / (60.0 * h)


def moved(values: Sequence[Any], directions: Sequence[Any], a: float) -> tuple[Any, ...]:
    """values + a * directions."""
    return tuple(v if d is None else np.asarray(v + a * d) for v, d in zip(values, directions, strict=True))


def run(program: Program, values: Sequence[Any]) -> tuple[Any, ...]:
    """The program's outputs."""
    with np.errstate(all="ignore"):
        return interpret(program, tuple(values))
