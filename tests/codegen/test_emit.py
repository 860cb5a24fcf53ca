"""Generated code computes what the program says, bit for bit; and reads as a careful person would have written it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from srcdiff import runtime
from srcdiff.aval import aval
from srcdiff.codegen import emit as emitter
from srcdiff.codegen.emit import emit
from srcdiff.codegen.header import Header, size
from srcdiff.codegen.loader import load
from srcdiff.core.builder import Builder, interpret, item
from srcdiff.core.program import Node, Program, Source
from srcdiff.index import Dynamic, Index
from srcdiff.ops.indexing import getitem
from tests.transform.programs import CASES, P, at, backward, f32, f64, i64, inputs_of, programs, rnn, total


def run(program: Program, values: tuple[Any, ...], **options: Any) -> tuple[Any, ...]:
    function = load(emit(program, **options), program.name, program.name, {"np": np, "rt": runtime})
    return function(*values)  # type: ignore[no-any-return]


def check(program: Program, tolerance: float = 0.0, **options: Any) -> None:
    """The function gives what the interpreter gives, and leaves its arguments alone."""
    values = inputs_of(program)
    given = tuple(np.array(value) for value in values)
    expected = interpret(program, values)
    for got, want in zip(run(program, given, **options), expected, strict=True):
        assert (np.shape(got), np.asarray(got).dtype) == (np.shape(want), np.asarray(want).dtype)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    for value, before in zip(given, values, strict=True):
        np.testing.assert_array_equal(value, before)


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is planned for arrays of any size."""
    monkeypatch.setattr(emitter, "LARGE", 1)
    monkeypatch.setattr("srcdiff.codegen.statements.LARGE", 1)


@given(programs())
def test_code_computes_the_program(program: Program) -> None:
    check(program)
    check(program, plain=True)


@given(programs(dtype="f4"))
def test_code_keeps_the_dtype(program: Program) -> None:
    check(program)


@given(programs())
def test_reused_memory_changes_no_result(program: Program) -> None:
    """But for rounding: the memory may have another order of axes, and so may a sum over it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emitter, "LARGE", 1)
        patch.setattr("srcdiff.codegen.statements.LARGE", 1)
        check(program, tolerance=1e-12)


@pytest.mark.parametrize("planned", [False, True])
@given(program=programs(most=30))
def test_parts_compute_the_program(planned: bool, program: Program) -> None:
    """Memory is given back, and used again, across parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emitter, "LONGEST", 3)
        patch.setattr(emitter, "PART", 2)
        if planned:
            patch.setattr(emitter, "LARGE", 1)
            patch.setattr("srcdiff.codegen.statements.LARGE", 1)
        check(program, tolerance=1e-12 if planned else 0.0)
        check(program, tolerance=1e-12 if planned else 0.0, quick=True)


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    program, wrt = CASES[name]()
    made = backward(program, wrt)
    named = tuple((node.name or "", node.aval) for node in program.inputs)
    intermediate = tuple(
        here for here, value in zip(made.program.inputs[1:], made.saved, strict=True) if value.prim is not None
    )
    header = Header(program.name, "model.py:1", tuple(node.name or "" for node in wrt), named, intermediate)
    golden(f"{name}.py", emit(made.program, header))
    check(made.program)


def statements(text: str) -> list[str]:
    """The lines of a function that compute something."""
    body = text[text.index(":\n") :]
    return [line for line in body.split("\n")[1:] if re.match(r"    \w.*(=|\.at\()", line)]


#: the number of statements of the backward written by hand
BY_HAND = {"logistic": 4, "mlp_squares": 7, "mlp_cross_entropy": 9, "attention": 15, "indexing": 5, "mixed": 9}


@pytest.mark.parametrize("name", BY_HAND)
def test_no_more_statements_than_by_hand(name: str) -> None:
    made = backward(*CASES[name]())
    assert len(statements(emit(made.program))) <= BY_HAND[name]


def test_logistic_loss_is_the_one_of_the_documents() -> None:
    program, wrt = CASES["logistic"]()
    (p,) = (node for node in program.nodes() if node.name == "p")
    text = emit(backward(program, wrt, {*program.inputs, p}).program)
    assert text == (
        "def logistic_loss_backward(g_out, X, y, p):\n"
        "    # return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))      model.py:11\n"
        "    g_p = (y / p - (1 - y) / (1 - p)) * (g_out / -100)              # f64[100]\n"
        "    # p = 1 / (1 + np.exp(-z))                                      model.py:10\n"
        "    g_z = g_p * (p * (1 - p))                                       # f64[100]\n"
        "    # z = X @ w + b                                                 model.py:9\n"
        "    g_b = np.sum(g_z)                                               # f64[]\n"
        "    g_w = g_z @ X                                                   # f64[5]\n"
        "    return g_w, g_b\n"
    )


def test_lines_are_short() -> None:
    for case in CASES.values():
        text = emit(backward(*case()).program)
        code = [line.split("  #")[0] for line in text.split("\n") if not line.lstrip().startswith("#")]
        assert max(map(len, code)) <= 100


def test_header() -> None:
    b = Builder()
    g, w, p = b.input(f64(), "g_out"), b.input(f64(5), "w"), b.input(f64(100), "p")
    program = Program("f_backward", (g, w, p), (w * g, None))
    inputs = (("w", w.aval), ("b", g.aval))
    header = Header("f", "model.py:8", ("w", "b"), inputs, (p,), ("path     line 3: if x -> True",))
    text = emit(program, header)
    assert text.split('"""')[1] == (
        "Gradients of f (model.py:8) with respect to w and b.\n\n"
        "    inputs   w f64[5], b f64[]\n"
        "    saved    p f64[100]                                             0.8 kB\n"
        "    returns  product f64[5], g_b None\n"
        "    path     line 3: if x -> True\n    "
    )
    assert [size(n) for n in (800, 12_000, 3_400_000, 0)] == ["0.8 kB", "12 kB", "3.4 MB", "0.0 kB"]


def test_scatters_share_one_buffer() -> None:
    """Reading x[i] in a loop is linear in its backward: one array of zeros, however many reads."""
    b = Builder()
    x, g = b.input(f64(50), "x"), b.input(f64(), "g_out")
    out: Any = None
    for k in range(50):
        part = P["scatter"](g * float(k + 1), index=at(x, k).kwargs["index"], shape=(50,), unique=True)
        out = part if out is None else out + part
    program = Program("f", (g,), (out,))
    text = emit(program)
    assert text.count("np.zeros") == 1
    assert "+= 7 * g_out" in text
    check(program)


def test_repeated_indices_add_up() -> None:
    program, wrt = CASES["indexing"]()
    text = emit(backward(program, wrt).program)
    assert "np.add.at(g_x, rows, g_z)" in text
    assert "g_x[0] += " in text


def test_outputs_of_one_operation_are_unpacked() -> None:
    b = Builder()
    x = b.input(f64(3, 3), "x")
    pair = P["slogdet"](x)
    program = Program("f", (x,), (item(pair, 1) * 2.0,))
    assert "_, slogdet_1 = np.linalg.slogdet(x)" in emit(program)
    check(program)


def test_buffers_are_named_where_they_are_reused(all_are_large: None) -> None:
    b = Builder()
    x, y = b.input(f64(3, 3), "x"), b.input(f64(3, 3), "y")
    product = x * y
    program = Program("f", (x, y), (P["sin"](product) * x,))
    assert emit(program) == (
        "def f(x, y):\n"
        "    product = x * y                                                 # f64[3,3]\n"
        "    sin = np.sin(product, out=product)                              # f64[3,3], reuses product\n"
        "    product_2 = np.multiply(sin, x, out=sin)                        # f64[3,3], reuses sin\n"
        "    return product_2,\n"
    )
    assert "out=" not in emit(program, plain=True)


def test_memory_that_is_not_needed_is_given_back(all_are_large: None) -> None:
    b = Builder()
    x = b.input(f64(3, 3), "x")
    once = P["exp"](x) @ x
    program = Program("f", (x,), ((once @ once) @ x,))
    text = emit(program)
    assert "    del power\n" in text
    check(program)


@pytest.mark.usefixtures("untraced")
def test_long_programs_compile_in_linear_time_and_in_parts() -> None:
    b = Builder()
    x = b.input(f64(2), "x")
    y: Node = x
    for k in range(emitter.LONGEST + 10):
        b.source = Source(None, "model.py", k, f"line {k}")
        y = P["sin"](y)
        object.__setattr__(y, "name", "y")
    program = Program("f", (x,), (y,))
    text = emit(program)
    assert text.count("\ndef ") == 3
    assert "f_part1(x)" in text
    check(program)


def test_deep_sums_are_not_nested() -> None:
    b = Builder()
    xs = [b.input(f64(2), "x") for _ in range(300)]
    out = xs[0] * 1.5
    for x in xs[1:]:
        out = out + x * 1.5
    program = Program("f", tuple(xs), (out,))
    check(program)
    assert max(line.count("(") for line in emit(program).split("\n")[2:]) <= 20


@pytest.mark.parametrize(("build", "text"), [
    (lambda x, s: P["transpose"](x, axes=(1, 0)), "x.T"),
    (lambda x, s: P["sum_to"](x, shape=(3,)), "np.sum(x, axis=0)"),
    (lambda x, s: P["sum_to"](x, shape=(2, 1)), "np.sum(x, axis=1, keepdims=True)"),
    (lambda x, s: P["sum_to"](x, shape=()), "np.sum(x)"),
    (lambda x, s: P["sum_to"](x, shape=(1,)), "np.sum(x).reshape((1,))"),
    (lambda x, s: total(x, (0,)), "np.sum(x, axis=0)"),
    (lambda x, s: total(x), "np.sum(x)"),
    (lambda x, s: total(x, None, True), "np.sum(x, keepdims=True)"),
    (lambda x, s: P["reshape"](x, shape=(6,)), "x.reshape(-1)"),
    (lambda x, s: P["reshape"](x, shape=(3, 2)), "x.reshape(3, 2)"),
    (lambda x, s: P["reshape"](x, shape=(2, 1, 3)), "x[:, None]"),
    (lambda x, s: P["reshape"](x, shape=(2, 3, 1)), "x[..., None]"),
    (lambda x, s: P["reshape"](x, shape=(1, 2, 3)), "x[None]"),
    (lambda x, s: P["reshape"](s, shape=(1, 1)), "np.reshape(s, (1, 1))"),
    (lambda x, s: P["broadcast_to"](s, shape=(2, 3)), "np.full((2, 3), s)"),
    (lambda x, s: P["cast"](x, dtype=np.dtype(np.float32)), "x.astype(np.float32)"),
    (lambda x, s: x * 2.0, "2 * x"),
    (lambda x, s: x / -100.0, "x / -100"),
    (lambda x, s: P["where"](P["greater"](x, 0.0), x, 0.0), "np.where(x > 0, x, 0)"),
    (lambda x, s: x**2.0, "x ** 2"),
    (lambda x, s: x + 0.25, "x + 0.25"),
])  # fmt: skip
def test_idioms(build: Callable[..., Node], text: str) -> None:
    b = Builder()
    x, s = b.input(f64(2, 3), "x"), b.input(f64(), "s")
    program = Program("f", (x, s), (build(x, s),))
    assert f" = {text}  " in emit(program)
    check(program)


def test_literals_keep_their_point_beside_integers() -> None:
    b = Builder()
    n = b.input(i64(3), "n")
    program = Program("f", (n,), (n * 2.0,))
    assert "2.0 * n" in emit(program)
    check(program)


def test_stacks_are_turned_by_swapaxes() -> None:
    b = Builder()
    x = b.input(f32(2, 3, 4), "x")
    program = Program("f", (x,), (P["transpose"](x, axes=(0, 2, 1)), P["transpose"](x, axes=(1, 0, 2))))
    assert "x.swapaxes(-1, -2)" in emit(program)
    assert "x.transpose(1, 0, 2)" in emit(program)
    check(program)


def test_a_loop_has_one_value_of_each_name() -> None:
    text = emit(backward(*rnn()).program)
    assert "g_h_3 = " in text and "g_h_2 = " in text
    assert "g_U += " in text


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "u8"])
@pytest.mark.parametrize(("shape", "places"), [((7, 3), (5,)), ((7, 3, 2), (4, 6)), ((7,), (5,)), ((7, 0), (5,))])
def test_quick_code_takes_rows(shape: tuple[int, ...], places: tuple[int, ...], dtype: str) -> None:
    """`x.take(rows, axis=0)`, where that is faster than `x[rows]` and accepts the type of the rows."""
    builder = Builder()
    x = builder.input(aval(shape, np.dtype("f8")), "x")
    rows = builder.input(aval(places, np.dtype(dtype)), "rows")
    index = Index((Dynamic(0),), False, False)
    program = Program("taken", (x, rows), (builder.emit(getitem, (x, rows), {"index": index}),))
    assert ("x.take(rows, axis=0)" in emit(program, quick=True)) is (len(shape) > 1 and dtype != "u8")
    rng = np.random.default_rng(0)
    low = 0 if dtype[0] == "u" else -7
    values = (rng.standard_normal(shape), rng.integers(low, 7, places).astype(dtype))
    np.testing.assert_array_equal(run(program, values, quick=True)[0], values[0][values[1]])
    for wrong in {7, low - 1} - {-1}:
        values[1].flat[-1] = wrong
        # NumPy 2.0 only warns where there is nothing to take
        with pytest.raises(
            (IndexError, DeprecationWarning), match=f"index {wrong} is out of bounds|Out of bound index"
        ):
            run(program, values, quick=True)


@pytest.mark.parametrize(("build", "text"), [
    (lambda x: total(x, (1,)), 'np.einsum("ab->a", x)'),
    (lambda x: total(x, (1,), True), 'np.einsum("ab->a", x)[..., None]'),
    (lambda x: P["sum_to"](x, shape=(64, 1)), 'np.einsum("ab->a", x)[..., None]'),
    (lambda x: P["max"](x, axis=(1,), keepdims=True), "rt.row_max(x, True)"),
    (lambda x: P["max"](x, axis=1, keepdims=False), "rt.row_max(x, False)"),
    (lambda x: total(x, (0,)), "x.sum(axis=0)"),
    (lambda x: P["sum_to"](x, shape=(64,)), "x.sum(axis=0)"),
    (lambda x: P["max"](x, axis=0, keepdims=False), "x.max(axis=0)"),
    (lambda x: P["max"](x, axis=None, keepdims=False), "x.max()"),
    (lambda x: total(x), "x.sum()"),
])  # fmt: skip
def test_quick_code_reduces_rows(build: Callable[..., Node], text: str) -> None:
    """A square array, whose rows and columns are equally many; with `exact` nothing but NumPy's reductions will do."""
    b = Builder()
    x = b.input(f64(64, 64), "x")
    program = Program("f", (x,), (build(x),))
    written = emit(program, quick=True)
    assert f" = {text}  " in written
    assert "einsum" not in emit(program, quick=True, exact=True) and "row_max" not in emit(
        program, quick=True, exact=True
    )
    value = np.random.default_rng(0).standard_normal((64, 64))
    scope: dict[str, Any] = {"np": np, "rt": runtime}
    exec(written, scope)
    np.testing.assert_allclose(scope["f"](value)[0], interpret(program, (value,))[0], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 32, 33, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_maxima_of_rows(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 9, n)).astype(dtype)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[rng.random(x.shape) < 0.1] = -np.inf
    for rows in (x, x.swapaxes(0, 1), x[::2]):
        for keepdims in (True, False):
            got = runtime.row_max(rows, keepdims)
            np.testing.assert_array_equal(got, rows.max(axis=-1, keepdims=keepdims))
            assert got.dtype == dtype
