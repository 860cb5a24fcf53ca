from __future__ import annotations

import ast
import io
import math
import tokenize
import warnings
from time import perf_counter
from typing import Any

import gast
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srcdiff.codegen.printer import Comments, Note, expression_source, to_source

# random expressions

NAMES = st.sampled_from(["x", "g_z", "w"])
BINARY = [gast.Add, gast.Sub, gast.Mult, gast.MatMult, gast.Div, gast.FloorDiv, gast.Mod, gast.Pow]
BINARY += [gast.LShift, gast.RShift, gast.BitOr, gast.BitXor, gast.BitAnd]
COMPARISONS = [gast.Eq, gast.NotEq, gast.Lt, gast.LtE, gast.Gt, gast.GtE, gast.Is, gast.IsNot, gast.In, gast.NotIn]
CONSTANTS: list[Any] = [0, 1, -1, 2.5, -2.5, -0.0, 1e300, math.inf, -math.inf, math.nan, 2j, -2j, 1 + 2j, True, None]
CONSTANTS += ["text", 'it\'s "so"', b"b", ..., 10**30]


def name(id: str, ctx: Any = gast.Load) -> gast.Name:
    return gast.Name(id=id, ctx=ctx(), annotation=None, type_comment=None)


def constant(value: Any) -> gast.Constant:
    return gast.Constant(value=value, kind=None)


def parameters(names: list[str], default: Any, starred: bool) -> gast.arguments:
    args = [name(each, gast.Param) for each in names]
    return gast.arguments(
        args=[] if starred else args, posonlyargs=[],
        vararg=name("a", gast.Param) if starred else None,
        kwonlyargs=args if starred else [], kw_defaults=[default for _ in args] if starred else [],
        kwarg=name("k", gast.Param) if starred else None,
        defaults=[default] if args and not starred and default else [],
    )  # fmt: skip


def composites(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    build, load = st.builds, gast.Load()
    some, starred = st.lists(inner, max_size=3), build(gast.Starred, value=inner, ctx=st.just(load))
    items = st.lists(inner | starred, max_size=3)
    bound = st.none() | inner
    part = inner | build(gast.Slice, lower=bound, upper=bound, step=bound)
    index = part | build(gast.Tuple, elts=st.lists(part | starred, min_size=1, max_size=3), ctx=st.just(load))
    keywords = st.builds(
        lambda which, x, y: [gast.keyword(arg=arg, value=value) for arg, value in zip(which, (x, y), strict=False)],
        st.sampled_from([(), ("axis",), (None,), ("axis", "out"), ("axis", None), (None, "out")]), inner, inner,
    )  # fmt: skip
    target = st.just(name("i", gast.Store)) | st.just(
        gast.Tuple(elts=[name("i", gast.Store), name("j", gast.Store)], ctx=gast.Store())
    )
    generators = st.lists(
        build(gast.comprehension, target=target, iter=inner, ifs=st.lists(inner, max_size=1), is_async=st.just(0)),
        min_size=1, max_size=2,
    )  # fmt: skip
    pairs = st.lists(st.tuples(bound, inner), max_size=2)
    return st.one_of(
        build(lambda op, x, y: gast.BinOp(left=x, op=op(), right=y), st.sampled_from(BINARY), inner, inner),
        build(lambda op, x, y: gast.BinOp(left=x, op=op(), right=y), st.sampled_from(BINARY), inner, inner),
        build(
            lambda op, x: gast.UnaryOp(op=op(), operand=x),
            st.sampled_from([gast.USub, gast.UAdd, gast.Not, gast.Invert]), inner,
        ),
        build(
            lambda op, xs: gast.BoolOp(op=op(), values=xs),
            st.sampled_from([gast.And, gast.Or]), st.lists(inner, min_size=2, max_size=3),
        ),
        build(
            lambda x, rest: gast.Compare(left=x, ops=[op() for op, _ in rest], comparators=[y for _, y in rest]),
            inner, st.lists(st.tuples(st.sampled_from(COMPARISONS), inner), min_size=1, max_size=2),
        ),
        build(gast.IfExp, test=inner, body=inner, orelse=inner),
        build(gast.Call, func=inner, args=items, keywords=keywords),
        build(gast.Attribute, value=inner, attr=NAMES, ctx=st.just(load)),
        build(gast.Subscript, value=inner, slice=index, ctx=st.just(load)),
        build(gast.Tuple, elts=items, ctx=st.just(load)),
        build(gast.List, elts=items, ctx=st.just(load)),
        build(gast.Set, elts=st.lists(inner | starred, min_size=1, max_size=3)),
        build(lambda ps: gast.Dict(keys=[k for k, _ in ps], values=[v for _, v in ps]), pairs),
        build(
            lambda args, body: gast.Lambda(args=args, body=body),
            build(parameters, st.lists(st.sampled_from("pqr"), max_size=2, unique=True), bound, st.booleans()), inner,
        ),
        build(gast.ListComp, elt=inner, generators=generators),
        build(gast.GeneratorExp, elt=inner, generators=generators),
        build(gast.DictComp, key=inner, value=inner, generators=generators),
        build(lambda f, elt, gs: gast.Call(func=f, args=[gast.GeneratorExp(elt=elt, generators=gs)], keywords=[]),
              inner, inner, generators),
        some.map(lambda xs: gast.Call(func=gast.Attribute(name("np"), "exp", gast.Load()), args=xs, keywords=[])),
    )  # fmt: skip


LEAVES = NAMES.map(name) | st.sampled_from(CONSTANTS).map(constant)
EXPRESSIONS = st.recursive(LEAVES, composites, max_leaves=12)


class Spelled(ast.NodeTransformer):
    """The tree as the parser gives it: signs, complex sums, inf and nan are operations and attributes there."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        value = node.value
        if isinstance(value, complex) and value.real and value.imag:
            return ast.BinOp(self.of(value.real), ast.Add(), ast.Constant(complex(0, value.imag)))
        if isinstance(value, complex) and value.imag < 0:
            return ast.UnaryOp(ast.USub(), ast.Constant(-value))
        return self.of(value) if type(value) in (int, float) else node

    def of(self, value: float) -> ast.expr:
        if math.copysign(1.0, value) < 0 and value == value:
            return ast.UnaryOp(ast.USub(), self.of(-value))
        if type(value) is float and not math.isfinite(value):
            return ast.Attribute(ast.Name("np", ast.Load()), "nan" if value != value else "inf", ast.Load())
        return ast.Constant(value)


def parsed(text: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.dump(ast.parse(text))
    except SyntaxError:
        return None


def expected(tree: Any) -> str:
    return ast.dump(Spelled().visit(gast.gast_to_ast(gast.Module(body=[tree], type_ignores=[]))))


def assignment(value: Any) -> gast.Assign:
    return gast.Assign(targets=[name("out", gast.Store)], value=value, type_comment=None)


@settings(max_examples=600, deadline=None)
@given(EXPRESSIONS)
def test_parsing_the_text_gives_the_tree(tree: Any) -> None:
    assert parsed(to_source(assignment(tree), width=10_000)) == expected(assignment(tree))
    assert parsed(expression_source(tree)) == expected(gast.Expr(tree))


def without_one_pair(text: str) -> list[str]:
    """The text less one pair of round brackets, for every pair."""
    opened, shorter = [], []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string == "(":
            opened.append(token.start[1])
        elif token.string == ")":
            start, stop = opened.pop(), token.start[1]
            shorter.append(text[:start] + text[start + 1 : stop] + text[stop + 1 :])
    return shorter


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS)
def test_no_pair_of_parentheses_can_be_removed(tree: Any) -> None:
    text = to_source(assignment(tree), width=10_000)
    meaning = parsed(text)
    assert [shorter for shorter in without_one_pair(text) if parsed(shorter) == meaning] == []


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, st.sampled_from([20, 40, 60]))
def test_breaking_a_line_keeps_its_meaning(tree: Any, width: int) -> None:
    test = gast.If(test=tree, body=[assignment(tree), gast.Return(tree)], orelse=[])
    assert parsed(to_source(test, width=width)) == expected(test)


@pytest.mark.parametrize("value", [*CONSTANTS, complex(-0.0, 2), complex(0, -2), complex(3, -0.0), complex(math.inf, 1),
                                   (1, -0.0), (-1,), (), np.float32(0.1), np.float32("inf"), np.int64(3), np.bool(True),
                                   np.complex64(1j), np.float64("nan"), "a\\b\n"])  # fmt: skip
def test_a_constant_evaluates_to_itself(value: Any) -> None:
    found = eval(expression_source(constant(value)), {"np": np})
    assert type(found) is type(value) and repr(found) == repr(value)


STATEMENTS = '''\
def f(a, b: int = 3, /, c=1, *args, d, e=2, **kw) -> int:
    """Doc.

    inputs   w f64[5]
    """
    g_z = g_p * (p * (1 - p))
    a, b = b, a
    (a, b), c = d
    x, = y = 1,
    y = (-y) ** 2 - -y ** 2 - (a - b) - (not c)
    for i, (j, k) in enumerate(x):
        x += 1
        continue
    else:
        pass
    if a:
        while not (a and b or c):
            del x, y[0]
            break
        else:
            pass
    elif b < c <= d:
        assert x, "no"
    else:
        with np.errstate(all="ignore") as q, b:
            raise ValueError("x") from None
    h[t + 1, :50, ..., None, ::2] = xs[-1:]
    z: float = f(*a or b, *[*(a or b), 1], k=lambda: 3, **c or d)
    q = {1: 2, **(a or b), **c}, {1, 2}, (), [x for x, in (y if a else b) if (lambda: 1) if c]
    try:
        global u
    except (TypeError, ValueError) as error:
        raise
    finally:
        print()

    @decorate(1)
    def inner(*, x):
        return sum(x for x in y) + sum((x for x in y), 1)

    return inner
'''


def test_statements_are_printed_in_the_usual_form() -> None:
    assert to_source(gast.parse(STATEMENTS)) == STATEMENTS


def test_a_module_has_empty_lines_between_its_parts() -> None:
    source = '"""What it is."""\n\nimport numpy as np\nfrom a import b as c\n\n\ndef f():\n    pass\n\n\nx = f()\n'
    assert to_source(gast.parse(source)) == source


@pytest.mark.parametrize("text", ["One line.", "Two\n\nlines, one\n  indented", r"back\slash", 'quo"""te', 'end"', ""])
def test_a_docstring_is_kept(text: str) -> None:
    function = gast.parse("def f():\n    pass").body[0]
    function.body.insert(0, gast.Expr(constant(text)))
    (printed,) = ast.parse(to_source(function)).body
    assert ast.get_docstring(printed) == text
    assert to_source(gast.parse(to_source(function)).body[0]) == to_source(function)


def test_comments_stand_above_and_behind_their_statements() -> None:
    source = """\
def rnn_backward(g_out, xs):                                        # h f64[51,4]
    # return np.sum(h ** 2)                                         model.py:24
    g_h = h[50] * (2 * g_out)                                       # f64[4]
    for t in reversed(range(50)):                                   # model.py:22
        # h = np.tanh(xs[t] @ W)                                    model.py:23
        g_h = g_h @ U.T
    # else if
    if a:
        pass
    # otherwise
    elif b:                                                         # never

        # a line that is too long for the column                                    model.py:1
        np.multiply(first_long_operand, second_long_operand, out=first_long_operand)  # reuses it
    return g_h
"""
    tree = gast.parse(source)
    function = tree.body[0]
    first, loop, choice, _ = function.body
    comments = {
        function: Comments(trailing="h f64[51,4]"),
        first: Comments((Note("return np.sum(h ** 2)", "model.py:24"),), "f64[4]"),
        loop: Comments(trailing="model.py:22"),
        loop.body[0]: Comments((Note("h = np.tanh(xs[t] @ W)", "model.py:23"),)),
        choice: Comments(("else if",)),
        choice.orelse[0]: Comments(("otherwise",), "never"),
        choice.orelse[0].body[0]: Comments(
            ("", Note("a line that is too long for the column" + " " * 34, "model.py:1")), "reuses it"
        ),
    }
    assert to_source(tree, comments) == source


def test_a_comment_cannot_become_code() -> None:
    statement = gast.parse("x = 1").body[0]
    printed = to_source(statement, {statement: Comments(("a\nb = 1", Note("c\rd", "e\x0cf")), "g\u2028h\n")})
    assert ast.dump(ast.parse(printed)) == ast.dump(ast.parse("x = 1"))


LONG = {
    """\
logits_of_all = np.concatenate([first_long_operand_name, second_long_operand_name, third_long_operand_name], axis=a)
""": """\
logits_of_all = np.concatenate([first_long_operand_name, second_long_operand_name,
                                third_long_operand_name], axis=a)
""",
    """\
logits_of_all = first_long_operand_name * second_long_operand_name + third_long_operand_name[some_axis] - rest(a, b)
""": """\
logits_of_all = (first_long_operand_name * second_long_operand_name
                 + third_long_operand_name[some_axis] - rest(a, b))
""",
    """\
if type(w) is ndarray and (w.dtype is f8 or w.dtype == f8) and w.shape == (5,) and type(b) is float and b == 0.0:
    pass
""": """\
if (type(w) is ndarray and (w.dtype is f8 or w.dtype == f8) and w.shape == (5,) and type(b) is float
    and b == 0.0):
    pass
""",
    """\
def backward(first_long_operand_name, second_long_operand_name, third_long_operand_name, some_axis, another_axis):
    pass
""": """\
def backward(first_long_operand_name, second_long_operand_name, third_long_operand_name, some_axis,
             another_axis):
    pass
""",
    """\
x[first_long_operand_name:second_long_operand_name] = some_function_with_a_very_long_name(first_argument, second_one)
""": """\
x[first_long_operand_name:second_long_operand_name] = some_function_with_a_very_long_name(
    first_argument, second_one)
""",
    """\
return first_long_operand_name, second_long_operand_name, third_long_operand_name, some_axis, another_axis, and_more
""": """\
return (first_long_operand_name, second_long_operand_name, third_long_operand_name, some_axis,
        another_axis, and_more)
""",
}


@pytest.mark.parametrize(("source", "broken"), LONG.items())
def test_a_long_line_is_broken_in_brackets(source: str, broken: str) -> None:
    assert to_source(gast.parse(source)) == broken


def test_a_sum_of_any_length_is_printed() -> None:
    terms = [f"x{k}" for k in range(5000)]
    tree: Any = name(terms[0])
    for term in terms[1:]:
        tree = gast.BinOp(left=tree, op=gast.Add(), right=name(term))
    assert expression_source(tree) == " + ".join(terms)
    printed = to_source(assignment(tree))
    assert printed.replace("\n      ", "") == f"out = ({' + '.join(terms)})\n"
    assert max(map(len, printed.splitlines())) <= 100


@pytest.mark.usefixtures("untraced")
def test_printing_is_cheap() -> None:
    tree = gast.parse("g_z = g_p * (p * (1 - p))\n" * 200)
    comments = {statement: Comments((Note("p = f(z)", "model.py:10"),), "f64[100]") for statement in tree.body}

    def once() -> float:
        start = perf_counter()
        to_source(tree, comments)
        return (perf_counter() - start) / 200

    assert min(once() for _ in range(10)) < 60e-6
