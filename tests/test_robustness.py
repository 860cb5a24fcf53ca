"""When things go wrong: errors say where, and afterwards modes and caches are intact and the next call is right."""

from __future__ import annotations

import bdb
import contextlib
import io
import linecache
import pdb
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Whatever happens in a test, modes are as before and gradients are right."""
    yield
    assert sd.is_grad_enabled() and not sd.is_inference_mode_enabled()
    x = sd.from_numpy(X.copy()).requires_grad_()
    for _ in range(3):
        x.grad = None
        np.sum(np.sin(x)).backward()
        np.testing.assert_allclose(x.grad.numpy(), np.cos(X))
        np.testing.assert_allclose(sd.grad(lambda v: np.sum(v**3))(X), 3 * X**2)


def leaf(*shape: int) -> Any:
    return sd.from_numpy(np.ones(shape)).requires_grad_()


# -------------------------------------------------------------------------------------------------------- shape errors

BROKEN: list[tuple[Callable[[Any, Any], Any], str, str]] = [
    (lambda a, b: a + b, "add", "f64[3,4]"),
    (lambda a, b: a * b.T[:3], "mul", "f64[3,5]"),
    (lambda a, b: a @ b, "matmul", "f64[5,4]"),
    (lambda a, b: np.maximum(a, b), "maximum", "f64[5,4]"),
    (lambda a, b: np.reshape(a, (5, 5)), "reshape", "size 12"),
    (lambda a, b: np.split(a, 5), "split", "f64[3,4]"),
    (lambda a, b: np.einsum("ij,jk->ik", a, b), "einsum", "f64[5,4]"),
    (lambda a, b: np.concatenate([a, b.T]), "concatenate", "f64[4,5]"),
    (lambda a, b: np.where(a > 0, a, b), "where", "f64[5,4]"),
]


@pytest.mark.parametrize(("f", "name", "shape"), BROKEN, ids=[name for _, name, _ in BROKEN])
def test_a_shape_error_names_operation_shapes_and_line(f: Any, name: str, shape: str) -> None:
    line = f.__code__.co_firstlineno
    for _ in range(3):
        with pytest.raises(ValueError, match=name) as error:
            f(leaf(3, 4), leaf(5, 4))
        text = str(error.value)
        assert name in text and shape in text and f"test_robustness.py:{line}" in text
        with pytest.raises(ValueError, match=r"test_robustness\.py:"):
            sd.grad(lambda a, b: np.sum(f(a, b)))(np.ones((3, 4)), np.ones((5, 4)))


def test_a_shape_error_after_calls_that_hit_the_cache() -> None:
    f = sd.grad(lambda w, x: np.sum(np.tanh(x @ w)))
    for _ in range(3):
        f(np.ones(4), np.ones((2, 4)))
    for _ in range(3):
        with pytest.raises(ValueError, match=r"matmul\(f64\[2,5\], f64\[4\]\).*test_robustness\.py:"):
            f(np.ones(4), np.ones((2, 5)))
        np.testing.assert_allclose(f(np.zeros(4), np.ones((2, 4))), 2 * np.ones(4))


# -------------------------------------------------------------------------------------- exceptions in users' functions


def test_an_exception_in_a_users_function_is_the_users_own() -> None:
    def fail(x: Any) -> Any:
        h = np.sin(x)
        with sd.no_grad():
            np.sum(h)
            raise KeyError("mine")

    transforms = [sd.grad, sd.value_and_grad, sd.jacobian, sd.hessian, sd.compile, lambda f: lambda x: sd.vjp(f, x)]
    for transform in transforms:
        with pytest.raises(KeyError, match="mine") as error:
            transform(fail)(X)
        frames = traceback.extract_tb(error.value.__traceback__)
        assert frames[-1].name == "fail"
        assert sd.is_grad_enabled()


def test_an_exception_inside_a_nested_function() -> None:
    calls = iter(range(100))

    @sd.grad
    def f(x: Any) -> Any:
        def g(y: Any) -> Any:
            if next(calls) == 1:
                raise ZeroDivisionError
            return y**3

        return sd.grad(g)(x)

    assert f(2.0) == 12.0
    with pytest.raises(ZeroDivisionError):
        f(2.0)
    assert f(2.0) == 12.0


def test_an_exception_inside_a_callback_of_numpy() -> None:
    mine = ValueError("mine")

    def fail(row: Any) -> Any:
        raise mine

    def f(x: Any) -> Any:
        return np.sum(np.apply_along_axis(fail, 0, x))

    for call in (lambda: f(leaf(3)), lambda: sd.grad(f)(X)):
        with pytest.raises(ValueError, match="mine") as error:
            call()
        assert error.value is mine


# ------------------------------------------------------------------------------------------------------- interruptions


class Interrupt:
    """Raises KeyboardInterrupt as the n-th function is entered in files whose name contains `part`: signals arrive so.

    The end of a user's `with` block is let through: Python itself cannot do better. So is a generator that is closed.
    """

    def __init__(self, part: str, n: int) -> None:
        self.part, self.left = part, n

    def __enter__(self) -> Interrupt:
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *exc: Any) -> None:
        sys.settrace(self.before)

    def trace(self, frame: Any, event: str, _: Any) -> None:
        if self.part in frame.f_code.co_filename and frame.f_code.co_name not in ("__exit__", "<genexpr>"):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def training_step(w: Any) -> Any:
    h = np.tanh(np.ones((2, 3)) @ w)
    parts = np.split(h, 2)
    loss = np.mean(np.stack(parts) ** 2) + np.linalg.norm(w)
    loss.backward()
    return w.grad


@pytest.mark.parametrize("options", [{"compile_after": 10**9}, {"compile_after": 1}], ids=["walked", "compiled"])
def test_control_c_anywhere(options: dict[str, Any]) -> None:
    """At every line of the library that a step runs: what is left behind makes no later step wrong."""
    with sd.config(**options):
        expected = training_step(leaf(3)).numpy().copy()
        n = 1
        while True:
            w = leaf(3)
            with Interrupt("srcdiff", n) as interrupt, contextlib.suppress(KeyboardInterrupt):
                training_step(w)
            if interrupt.left > 0:
                break
            assert sd.is_grad_enabled()
            np.testing.assert_array_equal(training_step(leaf(3)).numpy(), expected)
            n += 3
        assert n > 30


def test_control_c_while_compiling() -> None:
    def f(x: Any, k: int) -> Any:
        return np.sum(np.tanh(x) * np.sin(x[..., k:]))

    n = 1
    for k in range(40):
        x = np.ones(50)
        with sd.config(compile_after=1), Interrupt("srcdiff", n), contextlib.suppress(KeyboardInterrupt):
            sd.grad(lambda v: np.sum(np.sin(v) * np.cos(v)))(x[:k])
        np.testing.assert_allclose(sd.grad(lambda v: np.sum(np.sin(v) * np.cos(v)))(x[:k]), np.cos(2 * x[:k]))
        n = n * 5 // 4 + 1


def interrupting(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a NumPy function that generated code calls be interrupted."""

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(np, name, interrupted)


def test_control_c_inside_generated_code(monkeypatch: pytest.MonkeyPatch) -> None:
    with sd.config(compile_after=1):
        f = sd.grad(lambda x: np.sum(np.sin(x) * x))
        expected = f(X)
        interrupting("cos", monkeypatch)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                f(X)
        monkeypatch.undo()
        np.testing.assert_array_equal(f(X), expected)


def test_an_interrupted_pass_accumulates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def loss(w: Any) -> Any:
        return np.sum(np.sin(w) * w)

    for options in ({"compile_after": 1}, {"compile_after": 10**9}):
        with sd.config(**options):
            loss(leaf(3)).backward()
            w = leaf(3)
            interrupting("cos", monkeypatch)
            with pytest.raises(KeyboardInterrupt):
                loss(w).backward()
            monkeypatch.undo()
            assert w.grad is None
            loss(w).backward()
            np.testing.assert_allclose(w.grad.numpy(), np.cos(1.0) + np.sin(1.0) * np.ones(3))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an alarm")
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_a_real_signal() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for k in range(10):
            # again and again: Python drops an exception raised while it calls back for what has died
            signal.setitimer(signal.ITIMER_REAL, 0.003 + 0.001 * k, 0.1)
            with contextlib.suppress(KeyboardInterrupt):
                while True:
                    training_step(leaf(3))
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            assert sd.is_grad_enabled()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


# ------------------------------------------------------------------------------------------------------------- threads


def in_threads(work: Callable[[int], None], count: int = 4) -> None:
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run(k: int) -> None:
        try:
            barrier.wait(30)
            work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]


def test_threads_record_on_shared_tensors() -> None:
    w = sd.from_numpy(X.copy()).requires_grad_()
    trunk = np.tanh(w)

    def work(k: int) -> None:
        for j in range(60):
            factor = float(k + 1)
            (g,) = sd.autograd.grad(np.sum(np.sin(w) * factor), w)
            np.testing.assert_allclose(g.numpy(), np.cos(X) * factor)
            (g,) = sd.autograd.grad(np.sum(trunk[j % 3] * factor), w, retain_graph=True)
            expected = np.zeros(3)
            expected[j % 3] = factor * (1 - np.tanh(X[j % 3]) ** 2)
            np.testing.assert_allclose(g.numpy(), expected)

    in_threads(work)


def test_threads_call_one_gradient_function() -> None:
    f = sd.grad(lambda x, n: np.sum(x**3) * n)

    def work(k: int) -> None:
        for j in range(80):
            x = np.arange(1.0, 2.0 + (j + k) % 5)
            np.testing.assert_allclose(f(x, 1.0 + k), 3 * x**2 * (1.0 + k))

    in_threads(work)


def test_threads_have_modes_of_their_own() -> None:
    def work(k: int) -> None:
        for _ in range(100):
            with sd.set_grad_enabled(k % 2 == 0):
                x = sd.ones(2, requires_grad=True)
                assert (x * 2.0).requires_grad == (k % 2 == 0)

    in_threads(work)


# --------------------------------------------------------------------------------------------- notebooks and debuggers


def test_a_cell_run_again_with_changed_code() -> None:
    def run_cell(text: str) -> dict[str, Any]:
        """As a notebook does: the same file name, new lines in linecache."""
        name = "<cell 1>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        namespace: dict[str, Any] = {"np": np, "sd": sd}
        exec(compile(text, name, "exec"), namespace)
        return namespace

    template = "@sd.grad\ndef f(x):\n    {h} = np.{op}(x)\n    return np.sum({h} * {h})\n"
    for h, op, expected in [
        ("hidden", "sin", np.sin(2 * X)),
        ("middle", "exp", 2 * np.exp(2 * X)),
        ("hidden", "tanh", 2 * np.tanh(X) * (1 - np.tanh(X) ** 2)),
    ]:
        f = run_cell(template.format(h=h, op=op))["f"]
        for _ in range(3):
            np.testing.assert_allclose(f(X), expected)
        text = f.source(X)
        assert h in text and f"{h} = np.{op}(x)" in text
        assert ("middle" in text) == (h == "middle")


def test_a_source_that_is_not_what_was_compiled_shows_no_wrong_lines() -> None:
    name = "<cell 2>"
    text = "def f(x):\n    return np.sum(np.sin(x))\n"
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), namespace)
    other = "import os\nprint(os.name, [q for q in range(3)])\n"
    linecache.cache[name] = (len(other), None, other.splitlines(True), name)
    shown = sd.grad(namespace["f"]).source(X)
    assert "os.name" not in shown and "cos" in shown


def test_a_debugger_steps_through_generated_code() -> None:
    with sd.config(compile_after=1):
        x = leaf(3)
        out = np.sum(np.tanh(x) * np.exp(x))
        out.backward(retain_graph=True)
    (executable,) = out.grad_fn.site.executables
    _, values = executable.match([out.grad_fn], None, False)
    shown = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("next\n" * 20), stdout=shown, nosigint=True, readrc=False)
    before = sys.gettrace()
    with contextlib.suppress(bdb.BdbQuit):
        debugger.runcall(executable.run, np.float64(1.0), *values)
    sys.settrace(before)
    returned = executable.source.splitlines()[-1].strip()
    assert returned.startswith("return ")
    assert "> <srcdiff" in shown.getvalue() and f"-> {returned}" in shown.getvalue()


def test_a_traceback_shows_generated_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    with sd.config(compile_after=1):
        f = sd.grad(lambda x: np.sum(np.cosh(x)))
        f(X)

        def broken(*_: Any) -> Any:
            raise ArithmeticError("from inside")

        monkeypatch.setattr(np, "sinh", broken)
        with pytest.raises(ArithmeticError) as error:
            f(X)
        monkeypatch.undo()
        text = "".join(traceback.format_exception(error.value))
        assert "<srcdiff" in text and "np.sinh(x)" in text
        np.testing.assert_allclose(f(X), np.sinh(X))


# ------------------------------------------------------------------------------------- arrays that calculate otherwise

STRANGE: dict[str, Any] = {
    "a MaskedArray": np.ma.array([1.0, 2.0], mask=[False, True]), "a matrix": np.ones((2, 2)).view(np.matrix),
    "an array of object": np.array([1, 2], object), "an array of <U1": np.array(["a", "b"]),
}  # fmt: skip


def product(x: Any, y: Any) -> Any:
    """An operator."""
    return np.sum(x * y)


def choice(x: Any, y: Any) -> Any:
    """A function of NumPy's."""
    return np.sum(np.where(x > 0, x, y))


@pytest.mark.parametrize("kind", STRANGE)
def test_arrays_that_calculate_in_their_own_way_are_refused(kind: str) -> None:
    with pytest.raises(sd.errors.DTypeError, match="cannot differentiate with respect to argument 'x'"):
        sd.grad(lambda x: np.sum(x))(STRANGE[kind])
    for f in (choice, product):
        gradient = sd.grad(f)
        gradient(X[:2], np.ones(2))  # the place is known
        with pytest.raises(sd.errors.DTypeError, match=rf"(Tensor and {kind} cannot|mul\().* at test_robust"):
            gradient(X[:2], STRANGE[kind])
