from __future__ import annotations

import argparse
import ast
import difflib
import inspect
import linecache
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from srcdiff.origin import Origin, describe, location, where
from srcdiff.usersource import _joined, _joined_tokens, blocks, source_of


class Recorder:
    """A value whose operations note the instruction that ran them, as a tape does."""

    def __init__(self, seen: list[tuple[CodeType, int]]) -> None:
        self.seen = seen

    def _note(self, *operands: Any, **keywords: Any) -> Recorder:
        frame = sys._getframe(1)
        self.seen.append((frame.f_code, frame.f_lasti))
        return Recorder(self.seen)

    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = __matmul__ = __pow__ = __neg__ = _note
    __lt__ = __gt__ = __getitem__ = __setitem__ = sum = dot = __call__ = _note

    def __iadd__(self, other: Any) -> Recorder:
        return self._from(sys._getframe(1))

    def _from(self, frame: Any) -> Recorder:
        self.seen.append((frame.f_code, frame.f_lasti))
        return self

    @property
    def T(self) -> Recorder:  # noqa: N802
        return self._from(sys._getframe(1))


Trace = Callable[..., list[Origin]]


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Runs source as a module of its own, calls its `f`, and describes every operation."""

    def run(source: str, *, edited: str | None = None, call: bool = True, names: str = "x y z w") -> list[Origin]:
        path = tmp_path / "model.py"
        path.write_text(source)
        seen: list[tuple[CodeType, int]] = []
        module = ModuleType("model")
        module.__dict__.update(np=Namespace(Recorder(seen)), **{name: Recorder(seen) for name in names.split()})
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
        if call:
            f = module.__dict__["f"]
            f(*(Recorder(seen) for _ in range(f.__code__.co_argcount)))
        if edited is not None:
            path.write_text(edited)
        return [describe(*place) for place in seen]

    return run


class Namespace:
    def __init__(self, recorder: Recorder) -> None:
        self.exp = self.where = self.cholesky = recorder
        self.linalg = self


@pytest.mark.parametrize(
    ("body", "operations"),
    [
        ("z = x @ w + y", [(None, ("x", "w")), ("z", (None, "y"))]),
        ("z: float = x + y", [("z", ("x", "y"))]),
        ("y += x", [("y", ("y", "x"))]),
        ("y += x * w", [(None, ("x", "w")), ("y", ("y", None))]),
        ("q = z = x - y", [("q", ("x", "y"))]),
        ("a, b = x * y, -x", [("a", ("x", "y")), ("b", ("x",))]),
        ("a, (b, c) = x * y, (-x, x * w)", [("a", ("x", "y")), ("b", ("x",)), ("c", ("x", "w"))]),
        ("a, *b = x * y, -x", [(None, ("x", "y")), (None, ("x",))]),
        ("if (q := x * y): pass", [("q", ("x", "y"))]),
        ("z = (q := x * y) + w", [("q", ("x", "y")), ("z", ("q", "w"))]),
        ("z = np.exp(x)", [("z", ("x",))]),
        ("z = np.linalg.cholesky(x)", [("z", ("x",))]),
        ("z = np.where(x, y, out=w)", [("z", ("x", "y", "w"))]),
        ("z = x.dot(y)", [("z", ("x", "y"))]),
        ("z = (x * y).sum()", [(None, ("x", "y")), ("z", (None,))]),
        ("z = x < y", [("z", ("x", "y"))]),
        ("z = x[0]", [("z", ("x", None))]),
        ("x[1:] = y", [("x", ("x", None))]),
        ("z = x.T @ y", [(None, ("x",)), ("z", (None, "y"))]),
        ("z = params['w'] + layers[0]", [("z", ("params_w", "layers_0"))]),
        ("z = self.weight * self.params['b']", [("z", ("weight", "params_b"))]),
        ("self.h = x * self.weight", [("h", ("x", "weight"))]),
        ("params['w'] = x * y", [("params_w", ("x", "y"))]),
        ("_ = x * y", [(None, ("x", "y"))]),
        ("z = 'ünï'; é = x * y", [("é", ("x", "y"))]),
    ],
)
def test_target_and_operands_are_the_users_names(
    trace: Trace, body: str, operations: list[tuple[str | None, tuple[str | None, ...]]]
) -> None:
    prelude = (
        "class Model:\n    pass\n"
        "def f(x, y, w):\n"
        "    self = Model(); self.weight = x; params = {'w': x, 'b': y}; self.params = params; layers = [y]\n"
    )
    found = trace(prelude + f"    {body}\n")
    assert [(origin.target, origin.operands) for origin in found] == operations
    assert {(origin.file, origin.line, origin.function) for origin in found} == {("model.py", 5, "f")}


@pytest.mark.parametrize(
    ("body", "literal"),
    [
        ("x ** 2", (False, True)),
        ("x ** -2", (False, True)),
        ("x ** n", (False, False)),
        ("x[0]", (False, True)),
        ("x[-1, :, None, 2:]", (False, True)),
        ("x[n]", (False, False)),
        ("x[:n]", (False, False)),
        ("np.where(x, 1.0, y)", (False, True, False)),
    ],
)
def test_constants_of_the_source_are_recognised(trace: Trace, body: str, literal: tuple[bool, ...]) -> None:
    (found,) = trace(f"def f(x, y):\n    n = 3\n    return {body}\n")
    assert found.literal == literal
    assert found.is_return and found.target is None


def test_a_statement_over_several_lines_becomes_one(trace: Trace) -> None:
    source = """\
def f(x, y, w):
    z = (x @ w  # the product
         + y.dot(
             w,
         ))
    return (
        -z
    )
"""
    product, dot, add, negative = trace(source)
    assert product.text == dot.text == add.text == "z = (x @ w + y.dot(w,))"
    assert [product.line, add.target, dot.operands, add.operands] == [2, "z", ("y", "w"), (None, None)]
    assert negative.text == "return (-z)" and negative.is_return and negative.operands == ("z",)


def test_a_chain_of_methods_over_several_lines(trace: Trace) -> None:
    source = """\
def f(x, y):
    z = (
        x.dot(y)
        .sum()
        .T
    )
"""
    dot, total, transposed = trace(source)
    assert [dot.operands, total.operands, transposed.operands] == [("x", "y"), (None,), (None,)]
    assert [dot.target, total.target, transposed.target] == [None, None, "z"]
    assert transposed.text == "z = (x.dot(y) .sum() .T)"


def test_only_the_head_of_a_compound_statement_is_shown(trace: Trace) -> None:
    source = """\
def f(x, y):
    if x < y:
        z = x * y  # product
    for q in [x * x]: z = -q
    while x > y and False:
        pass
    with open(__file__ if x * y else __file__) if False else None or C():
        pass
class C:
    def __enter__(self): pass
    def __exit__(self, *args): pass
"""
    texts = [origin.text for origin in trace(source.replace("__file__", "'f'"))]
    assert texts == ["if x < y:", "z = x * y", "for q in [x * x]:", "z = -q", "while x > y and False:"]


def test_scopes_have_their_own_names(trace: Trace) -> None:
    source = """\
def decorate(*_):
    return lambda function: function

class Model:
    scale = w * y

    @decorate(
        1,
    )
    def forward(self, x):
        def inner(v):
            u = v * x
            return u
        return inner(x)

g = lambda x: x * 2; h = decorate(1)(
    lambda v, w=y: v @ w)
t = -x

def f(x):
    a = Model().forward(x)
    b = [v * x for v in [x]]
    return g(x), h(x), b
"""
    scale, top, inner, each, double, product = trace(source)
    assert (scale.target, scale.operands, scale.function) == ("scale", ("w", "y"), "Model")
    assert (top.target, top.operands, top.function, top.line) == ("t", ("x",), "<module>", 18)
    assert (inner.target, inner.operands, inner.function, inner.line) == ("u", ("v", "x"), "inner", 12)
    assert (each.target, each.operands, each.text) == (None, ("v", "x"), "b = [v * x for v in [x]]")
    assert (double.target, double.is_return, double.text) == (None, True, "g = lambda x: x * 2")
    assert (product.operands, product.is_return) == (("v", "w"), True)
    assert product.text == "h = decorate(1)(lambda v, w=y: v @ w)"


def test_a_value_of_the_module_is_a_receiver_and_a_module_is_not(trace: Trace) -> None:
    found = trace("v = x * y\nt = v.sum()\nu = np.exp(v)\n", call=False)
    assert [origin.operands for origin in found] == [("x", "y"), ("v",), ("v",)]


def test_which_of_chained_comparisons_ran_is_not_guessed(trace: Trace) -> None:
    assert {origin.operands for origin in trace("def f(x, y, z):\n    q = x < y < z\n")} == {()}


def test_without_source_there_are_no_names() -> None:
    seen: list[tuple[CodeType, int]] = []
    space: dict[str, Any] = {"x": Recorder(seen)}
    exec("z = x * 2\n", space)
    assert describe(*seen[0]) == Origin("<string>", 1, function="<module>")
    assert where(*seen[0]) == "<string>:1"


@pytest.mark.parametrize(
    "edited",
    [
        "def f(x, y):\n    z = x + q\n",  # the same positions, another name
        "# moved\ndef f(x, y):\n    z = x + y\n",
        "def f(x, y):\n    z =  x + y\n    q = 1\n",
        "def f(x, y:\n",
        "'''\n",
        "",
        "\0",
    ],
)
def test_an_edited_file_gives_no_wrong_names(trace: Trace, edited: str) -> None:
    (found,) = trace("def f(x, y):\n    z = x + y\n", edited=edited)
    assert (found.line, found.operands, found.target) == (2, (), None)


def test_a_notebook_cell_is_found_in_linecache() -> None:
    name, source = "<ipython-input-7-0123>", "def f(x):\n    h = x * x\n    return h\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    try:
        seen: list[tuple[CodeType, int]] = []
        space: dict[str, Any] = {}
        exec(compile(source, name, "exec"), space)
        space["f"](Recorder(seen))
        assert describe(*seen[0]) == Origin(name, 2, "h = x * x", "h", ("x", "x"), literal=(False, False), function="f")
    finally:
        del linecache.cache[name]


def test_every_instruction_of_any_code_can_be_described() -> None:
    """Also of code with decorators, matches, handlers and f-strings, and at offsets that do not exist."""
    pending = [compile(Path(path).read_text(), path, "exec") for path in (__file__, linecache.__file__)]
    while pending:
        code = pending.pop()
        pending += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        for lasti in range(-1, len(code.co_code) + 4):
            origin = describe(code, lasti)
            assert location(code, lasti) == (origin.file, origin.line)
            assert "\n" not in origin.text


@pytest.mark.usefixtures("code_dies")
def test_the_source_is_let_go_with_the_code(trace: Trace) -> None:
    before = len(source_of)
    seen: list[tuple[CodeType, int]] = []
    name = "<cell>"
    linecache.cache[name] = (1, None, ["z = x * 2\n"], name)
    exec(compile("z = x * 2\n", name, "exec"), {"x": Recorder(seen)})
    assert describe(*seen[0]).target == "z" and len(source_of) == before + 1
    seen.clear()
    del linecache.cache[name]
    assert len(source_of) == before


def test_warnings_about_the_users_source_are_not_repeated() -> None:
    seen: list[tuple[CodeType, int]] = []
    name, source = "<escape>", "z = x * len('\\d')\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(source, name, "exec")
    linecache.cache[name] = (1, None, [source], name)
    exec(code, {"x": Recorder(seen)})
    assert describe(*seen[0]).target == "z"
    del linecache.cache[name]


@pytest.mark.parametrize("module", [argparse, difflib, inspect])
def test_statements_without_quotes_are_joined_as_their_tokens_are(module: Any) -> None:
    text = inspect.getsource(module)
    lines = text.splitlines()
    compared = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Assign, ast.Return, ast.Expr, ast.Assert)) and node.lineno != node.end_lineno:
            segment = "\n".join(lines[node.lineno - 1 : node.end_lineno]).strip()
            if not set("'\"\\") & set(segment):
                assert _joined(segment) == _joined_tokens(segment)
                compared += 1
    assert compared > 2
    for segment in ("f(  # one\n\n    a,\tb\n)", "x = (\n  [1]\n  + # no\n  y )", "a + {\n1: [\n2 ] }"):
        assert _joined(segment) == _joined_tokens(segment)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def f(x):\n    y = x\n    return g(\n        y,\n    )\n\nz = 1\n", 2),
        ("    def f(x):\n        return x\n    # no code\n    w = 2\n", 2),
        ("def f(x):\n    return x\n    yield 1\n", 2),
        ("def f(x):\n    try:\n        return x\n    finally:\n        pass\n", 2),
        ("def f(x):\n    return (x\n", 0),
    ],
)
def test_blocks_reach_as_far_as_the_code_and_then_to_their_end(text: str, count: int) -> None:
    complete = text if count else text.rstrip() + ")\n"
    space: dict[str, Any] = {}
    exec(compile("if 1:\n" * text.startswith(" ") + complete, "<text>", "exec"), space)
    code = space["f"].__code__
    first = code.co_firstlineno - text.startswith(" ")
    found = list(blocks(text.splitlines(keepends=True), first, code))
    assert len(found) == count
    for tree in found:
        definition = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        assert definition.name == "f" and definition.lineno == first
