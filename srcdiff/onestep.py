"""Generated code for one recorded operation: what the walk runs where an operation keeps coming back, and
`grad_fn.source`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff import runtime
from srcdiff.codegen.emit import emit
from srcdiff.codegen.loader import load
from srcdiff.core.builder import Builder, item
from srcdiff.core.program import NOWHERE, Node, Program, Source
from srcdiff.errors import CompileError, NotDifferentiableError
from srcdiff.tape.site import OUT, STATIC, TENSOR, Site
from srcdiff.transform.reverse import reverse
from srcdiff.transform.rewrite import simplify, used_inputs

#: (cotangent, saved) -> the cotangents of the operands that need one
Step = Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]

#: uses of a site after which its step is generated
COMPILE_AFTER = 4
_steps: dict[Any, Step | None] = {}


def step_of(site: Site) -> Step | None:
    """The generated step of a site, None if it has none (several outputs, or a rule that cannot be generated).

    It raises AttributeError or TypeError for saved values that are stale or freed: the caller then finds out why.
    """
    key = (site.prim, tuple(site.params.items()), site.kinds, site.avals, site.needs, tuple(map(repr, site.values)))
    if key not in _steps:
        if len(_steps) > 4_096:
            _steps.clear()
        _steps[key] = _make(site)
    return _steps[key]


def _make(site: Site) -> Step | None:
    if site.prim.multi:
        return None
    try:
        program, inputs = step_program(site, ())
    except (CompileError, NotDifferentiableError):
        return None
    run = load(emit(program, plain=True), program.name, program.name, {"np": np, "rt": runtime})
    position = {k: p for p, k in enumerate(site.save_list)}
    if any(k not in position for k in inputs):
        return None
    cells = [p for p, k in enumerate(site.save_list) if k == OUT or site.kinds[k] is TENSOR]
    text = ["def step(ct, saved):"]
    text += [
        f"    v{p} = saved[{p}].array" if p in cells else f"    v{p} = saved[{p}]" for p in range(len(site.save_list))
    ]
    text.append(f"    return run(ct, {', '.join(f'v{position[k]}' for k in inputs)})")
    namespace: dict[str, Any] = {"run": run}
    exec("\n".join(text), namespace)
    return namespace["step"]  # type: ignore[no-any-return]


def step_program(site: Site, names: tuple[str | None, ...], source: Source = NOWHERE) -> tuple[Program, list[int]]:
    """The vjp program of one operation, and which values it takes after the cotangent: operand numbers, or OUT."""
    builder = Builder()
    builder.source = source
    operands: list[Node] = []
    for k, kind in enumerate(site.kinds):
        if kind is STATIC:
            operands.append(builder.literal(site.values[k]))
            continue
        name = (names[k] if k < len(names) else None) or site.prim.operand_name(k)
        operands.append(builder.input(site.avals[k], f"x{name}" if name.isdigit() else name, source))
    out = builder.opaque(site.prim, tuple(operands), site.params, site.out_aval, source.name or "out")
    outputs = tuple(item(out, k) for k in range(len(site.out_aval))) if site.prim.multi else (out,)
    forward = Program(site.prim.name, tuple(o for o in operands if not o.is_literal), outputs)
    wrt = [operand for operand, needed in zip(operands, site.needs, strict=True) if needed]
    vjp = reverse(forward, wrt)
    backward = simplify(vjp.program)
    used = used_inputs(backward)
    count = len(outputs)
    inputs = tuple(x for k, x in enumerate(backward.inputs) if k < count or used[k])
    chosen = [value for k, value in enumerate(vjp.saved) if used[k + count]]
    numbers = [OUT if value is out or value in outputs else operands.index(value) for value in chosen]
    return Program(backward.name, inputs, backward.outputs), numbers
