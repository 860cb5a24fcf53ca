"""Forward and backward as one program with the user's loops in it, compiled in a time independent of their length."""

from __future__ import annotations

from collections.abc import Sequence

from srcdiff.config import Options
from srcdiff.core.loop import Loop
from srcdiff.core.program import Node, Program
from srcdiff.ops.loops import loop
from srcdiff.replay.fuse import fuse, shared
from srcdiff.transform.ahead import ahead
from srcdiff.transform.bands import in_bands
from srcdiff.transform.lengthwise import lengthwise
from srcdiff.transform.reroll import reroll
from srcdiff.transform.shorten import SHORT, lengthened, shortened


def fuse_loops(
    name: str, inputs: Sequence[Node], result: Node, wrt: Sequence[Node], branches: Sequence[Node], options: Options
) -> Program:
    """What `fuse` gives, with loops."""
    short = shortened(Program(name, tuple(inputs), (result, *branches)), wrt)
    if short is not None:
        made = []
        for trips in range(SHORT, SHORT + 3):
            program, of = short.program(trips, wrt)
            value, *conditions = program.outputs
            assert value is not None
            whole = fuse(name, program.inputs, value, of, [c for c in conditions if c is not None], options)
            made.append(reroll(whole, options.exact, tiny=0, stretch=short.trips / trips))
        long = lengthened(made, short.trips - SHORT)
        if long is not None:
            return long if options.exact else in_bands(ahead(long))
    whole = reroll(fuse(name, inputs, result, wrt, branches, options), options.exact)
    return whole if options.exact else in_bands(ahead(lengthwise(whole)))


def shared_results(program: Program) -> tuple[bool, ...]:
    """Which outputs may share memory with an input, another output, or an array of values of all iterations."""
    flags = []
    seen: set[tuple[int, int]] = set()
    for out, flag in zip(program.outputs, shared(program), strict=True):
        if out is not None and out.prim is not None and out.prim.name == "item" and out.operands[0].prim is loop:
            spec, k = out.operands[0].kwargs["spec"], out.kwargs["k"]
            number = _output(spec, k)
            made = None if number is None else spec.body.outputs[number]
            alone = made is not None and made.prim is not None and not made.prim.view and made.prim.name != "item"
            alone = (
                alone and all(each.output != number for each in spec.kept) and (id(out.operands[0]), number) not in seen
            )
            seen.add((id(out.operands[0]), -1 if number is None else number))
            flag = flag or not alone
        flags.append(flag)
    return tuple(flags)


def _output(spec: Loop, k: int) -> int | None:
    """The output of the body whose last value result k is; None if it is all values."""
    carried = spec.carried
    if k < len(carried):
        return carried[k][1].output
    k -= len(carried) + len(spec.kept)
    return spec.last[k] if k >= 0 else None
