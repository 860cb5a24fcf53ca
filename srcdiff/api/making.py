"""Making an entry of a call that was watched: the compiled step, behind its guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff import runtime
from srcdiff.api.player import Entry, style_of
from srcdiff.api.trace import Trace
from srcdiff.api.watching import Watched
from srcdiff.codegen.header import Header
from srcdiff.codegen.loader import load
from srcdiff.codegen.loops import emit_loops
from srcdiff.config import Options, config
from srcdiff.core.builder import interpret
from srcdiff.core.program import Program
from srcdiff.errors import NotDifferentiableError
from srcdiff.replay.entry import Result, begin, finish
from srcdiff.replay.findings import RefusedError
from srcdiff.replay.guard import write_guard
from srcdiff.replay.number import real, written
from srcdiff.replay.places import constants_of
from srcdiff.replay.recorder import Recorder
from srcdiff.replay.rolled import fuse_loops, shared_results
from srcdiff.tape.value import TensorBase
from srcdiff.transform.pieces import in_pieces
from srcdiff.transform.reroll import written_out


def make_entry(
    watched: Watched,
    args: Any,
    kwargs: Any,
    structured: Callable[[list[Any]], Any],
    name: str,
    label: Callable[[Any], str],
    also: Sequence[Any] = (),
) -> Entry:
    """An entry for calls like the one that was watched. Raises RefusedError or CompileError if there cannot be one.

    `also` are Tensors of the watched call that take the place of gradients, where nothing was to be differentiated.
    """
    recorder, run = watched.recorder, watched.run
    node = run.result.__dict__.get("_node") if isinstance(run.result, TensorBase) else None
    if node is None:
        raise RefusedError("its result does not depend on its arguments")
    if node.builder is not recorder.builder:
        raise RefusedError("its result comes from another call")
    tensors = [tensor for argument in run.arguments for tensor in argument.tensors]
    writer = begin(name)
    if recorder.uses_default_dtype:
        writer.require_default_dtype()
    reads = watched.findings.reads
    given = write_guard(writer, args, kwargs, label, watched.data, reads, watched.copies, watched.numbers)
    numbers = [writer.numbers[place] for place in watched.numbers]
    writer.require(*(written(text, numbers, writer.bind) for text in recorder.conditions))
    given += [real(text, numbers, writer.bind) for text in recorder.expressions]
    given += [writer.bind(array, "constant") for _, array in recorder.constants]
    given += [f"{writer.bind(draw, 'draw')}()" for _, draw in recorder.draws]
    constants = [constant for constant, _ in (*recorder.constants, *recorder.draws)]
    inputs = (*recorder.inputs, *recorder.expressions.values(), *constants)
    further = [tensor._node for tensor in also]
    branches = [*further, *(condition for condition, _ in recorder.branches)]
    branches += recorder.unused([node, *branches])
    options = config.options
    try:
        program = fuse_loops(name, inputs, node, [tensor._node for tensor in tensors], branches, options)
        program = program if options.exact else in_pieces(program)
    except NotDifferentiableError as error:
        raise RefusedError(str(error)) from None
    place = f"{node.source.file}:{node.source.line}" if node.source.file else ""
    wrt = tuple(tensor._node.name or "x" for tensor in tensors)
    drawn = [node for node, _ in recorder.draws]
    shown = tuple((n.name or "x", n.aval) for n in (*recorder.inputs, *recorder.expressions.values(), *drawn))
    function, source = generated(program, Header(name, place, (), shown, (), written_out(program)), options)
    copies = shared_results(program)
    results = [_value(run, recorder, copies[0])]
    for n, leaf, out, copy in zip(wrt, run.leaves, program.outputs[1:], copies[1:], strict=False):
        results.append(Result(f"g_{n}", leaf, out is None, copy))
    results += [Result("tangent", tensor._value, copy=copy) for tensor, copy in zip(also, copies[1:], strict=False)]
    outcomes = tuple(outcome for _, outcome in recorder.branches)
    enter, text = finish(
        writer,
        function,
        given,
        results,
        outcomes,
        len(program.outputs),
        structured if also else lambda parts: structured(run.rebuild(parts)),
        recorder.raises,
        bool(recorder.draws),
    )
    return Entry(
        watched.signature,
        enter,
        outcomes,
        program,
        source,
        text,
        style_of(options),
        constants_of(args, kwargs, reads, watched.numbers),
        bool(recorder.draws),
    )


def generated(program: Program, header: Header, options: Options) -> tuple[Callable[..., Any], str]:
    """What computes the program of an entry, and its text."""
    source = emit_loops(program, header, quick=True, exact=options.exact)
    if options.backend == "interpret":
        return lambda *values: interpret(program, values), source
    return load(source, program.name, f"{header.function} step", {"np": np, "rt": runtime}), source


def _value(run: Trace, recorder: Recorder, shared: bool) -> Result:
    """The function's value: of NumPy's kind, and in memory of its own where it was."""
    value = run.result._value
    own = not any(np.may_share_memory(value, tensor._value) for tensor in recorder.arguments)
    return Result("value", value, copy=shared and own)
