"""The laws that every primitive obeys at every sample of it. Each test is one law, named as a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff.ops.catalogue  # noqa: F401  declares every primitive
from srcdiff import runtime
from srcdiff.aval import SCALARS, aval_of
from srcdiff.core.builder import Builder
from srcdiff.core.primitive import REGISTRY, Primitive
from tests.ops.calculus import (
    cotangent,
    differentiated,
    direction,
    moved,
    pairing,
    program_pull_back,
    pull_back,
    raw_pull_back,
    run,
    slope,
    vjp_program,
)
from tests.ops.sample import Sample
from tests.ops.samples import SAMPLES, WITHOUT_SAMPLES


def cases(keep: Any = lambda prim, sample: True) -> Any:
    """Every primitive with each of its samples that `keep` accepts, as pytest parameters."""
    found = [
        pytest.param(REGISTRY[name], sample, id=f"{name}-{k}-{sample!r}")
        for name, samples in SAMPLES.items()
        if name in REGISTRY
        for k, sample in enumerate(samples)
        if keep(REGISTRY[name], sample)
    ]
    return pytest.mark.parametrize(("prim", "sample"), found)


def has_rules(prim: Primitive, sample: Sample) -> bool:
    return bool(differentiated(prim, sample.values()))


def is_smooth(prim: Primitive, sample: Sample) -> bool:
    return sample.smooth and has_rules(prim, sample)


def is_regular(prim: Primitive, sample: Sample) -> bool:
    return not sample.singular and has_rules(prim, sample)


def is_elementwise_or_float(prim: Primitive, sample: Sample) -> bool:
    return all(type(v) in SCALARS or v.dtype.kind in "fbiu" for v in sample.values()) and has_rules(prim, sample)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def evaluate(prim: Primitive, values: tuple[Any, ...], params: dict[str, Any]) -> Any:
    return prim.eval(*values, **params)


def close(x: float, y: float, scale: float) -> bool:
    """Equal up to what a difference quotient of sixth order with step 1e-3 can tell."""
    return abs(x - y) <= 1e-8 * (1.0 + scale)


@cases()
def test_inference_is_exact(prim: Primitive, sample: Sample) -> None:
    values = sample.values()
    inferred = prim.infer(*map(aval_of, values), **sample.params)
    actual = evaluate(prim, values, sample.params)
    if prim.multi:
        assert inferred == tuple(aval_of(np.asarray(part)) for part in actual)
    else:
        assert inferred is aval_of(np.asarray(actual))


@cases(lambda prim, sample: bool(prim.fast))
@pytest.mark.parametrize("dtype", [None, np.float32, np.float16, np.int8, bool])
def test_the_fast_form_is_the_printed_form(prim: Primitive, sample: Sample, dtype: Any) -> None:
    values = tuple(
        v if dtype is None or type(v) in SCALARS or v.dtype.kind == "c" else (3 * v).astype(dtype)
        for v in sample.values()
    )
    signature = ", ".join([*prim.args, *(["*", *prim.params] if prim.params and not prim.variadic else prim.params)])
    printed = eval(f"lambda {signature}: {prim.expr}", {"np": np, "rt": runtime})
    try:
        want = printed(*values, **sample.params)
    except (TypeError, IndexError):
        pytest.skip("the expression is not defined for this dtype")
    got = prim.eval(*values, **sample.params)
    assert np.asarray(want).dtype == np.asarray(got).dtype
    assert np.asarray(want).tobytes() == np.asarray(got).tobytes()


@cases(is_smooth)
def test_vjp_is_the_adjoint_of_the_difference_quotient(prim: Primitive, sample: Sample) -> None:
    values = sample.values()
    rng = np.random.default_rng(1)
    out = evaluate(prim, values, sample.params)
    ct = cotangent(out, rng)
    steps = [direction(v, rng) if k in differentiated(prim, values) else None for k, v in enumerate(values)]
    got = sum(
        pairing(pull_back(prim, k, ct, out, values, sample.params), steps[k]) for k in differentiated(prim, values)
    )

    def along(a: float) -> float:
        return pairing(ct, evaluate(prim, moved(values, steps, a), sample.params))

    assert close(got, slope(along), abs(along(0.0)) + abs(got))


@cases(is_smooth)
def test_second_derivatives_are_right(prim: Primitive, sample: Sample) -> None:
    """The program of the vjp, differentiated in turn, agrees with differences of its own values."""
    rng = np.random.default_rng(2)
    values = sample.values()
    ct = cotangent(evaluate(prim, values, sample.params), rng)
    program, start = vjp_program(prim, sample, ct)
    arrays = [k for k, v in enumerate(values) if type(v) not in SCALARS]
    fixed = {len(start) - len(arrays) + place for place, k in enumerate(arrays)} - {
        len(start) - len(arrays) + arrays.index(k) for k in differentiated(prim, values)
    }
    weights = [
        None if out is None else direction(np.asarray(v), rng)
        for out, v in zip(program.outputs, run(program, start), strict=True)
    ]
    steps = [None if place in fixed else direction(np.asarray(v), rng) for place, v in enumerate(start)]
    got = pairing(program_pull_back(program, start, weights), steps)

    def along(a: float) -> float:
        return pairing(weights, run(program, moved(start, steps, a)))

    assert close(got, slope(along), abs(along(0.0)) + abs(got))


@cases(has_rules)
def test_a_rule_reads_nothing_that_is_not_saved(prim: Primitive, sample: Sample) -> None:
    """On nodes, with avals for all else, the rule still makes a program; it gives what it gives on arrays."""
    values = sample.values()
    out = evaluate(prim, values, sample.params)
    ct = cotangent(out, np.random.default_rng(3))
    program, start = vjp_program(prim, sample, ct)
    for k, got in zip(differentiated(prim, values), run(program, start), strict=True):
        want = pull_back(prim, k, ct, out, values, sample.params)
        assert (got is None) == (want is None)
        if got is not None:
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@cases(has_rules)
def test_gradients_have_the_type_of_their_values(prim: Primitive, sample: Sample) -> None:
    values = sample.values()
    ct = cotangent(evaluate(prim, values, sample.params), np.random.default_rng(3))
    program, _ = vjp_program(prim, sample, ct)
    for k, out in zip(differentiated(prim, values), program.outputs, strict=True):
        assert out is None or out.aval is aval_of(values[k])


@cases(is_regular)
def test_gradients_are_finite(prim: Primitive, sample: Sample) -> None:
    values = sample.values()
    out = evaluate(prim, values, sample.params)
    ct = cotangent(out, np.random.default_rng(3))
    for k in differentiated(prim, values):
        made = pull_back(prim, k, ct, out, values, sample.params)
        assert made is None or np.all(np.isfinite(made))


@cases(is_regular)
def test_vjp_is_linear(prim: Primitive, sample: Sample) -> None:
    values = sample.values()
    out = evaluate(prim, values, sample.params)
    u, v = (cotangent(out, np.random.default_rng(seed)) for seed in (4, 5))
    parts = [(u, v)] if not prim.multi else list(zip(u, v, strict=True))
    mixed = [None if a is None else np.asarray(2.0 * a - 3.0 * b, a.dtype) for a, b in parts]
    both = tuple(mixed) if prim.multi else mixed[0]
    tolerance = 5e4 * max(float(np.finfo(part.dtype).eps) for part in mixed if part is not None)  # roundings, and some
    for k in differentiated(prim, values):
        got, of_u, of_v = (pull_back(prim, k, ct, out, values, sample.params) for ct in (both, u, v))
        if got is None:
            assert of_u is None
            assert of_v is None
        else:
            np.testing.assert_allclose(got, 2.0 * of_u - 3.0 * of_v, rtol=tolerance, atol=tolerance)


@cases(is_elementwise_or_float)
def test_float32_stays_float32(prim: Primitive, sample: Sample) -> None:
    """Even before the gradient is cast to the dtype of its value, no float64 has crept in."""
    values = tuple(
        v.astype(np.float32) if type(v) not in SCALARS and v.dtype == np.float64 else v for v in sample.values()
    )
    out = evaluate(prim, values, sample.params)
    if np.asarray(out[0] if prim.multi else out).dtype != np.float32:
        pytest.skip("the value itself is not float32")
    ct = cotangent(out, np.random.default_rng(3))
    builder = Builder()
    nodes = [v if type(v) in SCALARS else builder.input(aval_of(v)) for v in values]
    ct_nodes = tuple(None if c is None else builder.input(aval_of(c)) for c in (ct if prim.multi else (ct,)))
    result = prim(*nodes, **sample.params)
    for k in differentiated(prim, values):
        if any(type(v) not in SCALARS and v.dtype.kind in "iu" for v in values) and prim.elementwise:
            continue  # arrays of integers rightly make float64
        made = raw_pull_back(prim, k, ct_nodes if prim.multi else ct_nodes[0], result, nodes, sample.params)
        assert made is None or not hasattr(made, "dtype") or made.dtype == np.float32


def test_every_primitive_has_samples() -> None:
    assert SAMPLES.keys() | WITHOUT_SAMPLES == REGISTRY.keys()
    assert not SAMPLES.keys() & WITHOUT_SAMPLES
