"""Grad modes: as contexts and decorators, nested, in threads and generators, and intact after exceptions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd


@pytest.fixture(autouse=True)
def _back_to_normal() -> Iterator[None]:
    yield
    assert sd.is_grad_enabled() and not sd.is_inference_mode_enabled() and not sd.is_anomaly_enabled()


def leaf() -> Any:
    return sd.from_numpy(np.ones(3)).requires_grad_()


def recorded() -> bool:
    flag = (leaf() * 2.0).requires_grad
    assert flag == sd.is_grad_enabled()
    return bool(flag)


def test_no_grad_and_enable_grad_nest() -> None:
    with sd.no_grad():
        assert not recorded()
        with sd.enable_grad():
            assert recorded()
            with sd.no_grad():
                assert not recorded()
            assert recorded()
        assert not recorded()
    assert recorded()


DECORATORS: list[Any] = [
    lambda: sd.no_grad,
    lambda: sd.no_grad(),
    lambda: sd.set_grad_enabled(False),
    lambda: sd.inference_mode,
    lambda: sd.inference_mode(),
]


@pytest.mark.parametrize("decorator", DECORATORS)
def test_decorators_with_and_without_parentheses(decorator: Any) -> None:
    @decorator()
    def f() -> bool:
        """Says whether it records."""
        return recorded()

    assert recorded() and not f() and not f() and recorded()
    assert f.__name__ == "f" and f.__doc__ == "Says whether it records."


def test_set_grad_enabled_is_a_function_and_a_context() -> None:
    sd.set_grad_enabled(False)
    assert not recorded()
    sd.set_grad_enabled(True)
    with sd.set_grad_enabled(False):
        assert not recorded()
    assert recorded()


def test_one_object_can_be_entered_again() -> None:
    off = sd.no_grad()
    with off, off:
        assert not recorded()
    with off:
        assert not recorded()


def test_a_decorated_function_may_recurse() -> None:
    @sd.no_grad()
    def f(n: int) -> bool:
        return not recorded() if n == 0 else f(n - 1) and not recorded()

    assert f(5)


def test_generators_hold_the_mode_only_while_their_code_runs() -> None:
    @sd.no_grad()
    def f() -> Iterator[bool]:
        for _ in range(2):
            yield recorded()

    for flag in f():
        assert not flag and recorded()


def test_generators_get_what_is_sent_and_thrown() -> None:
    log: list[Any] = []

    @sd.no_grad()
    def f() -> Any:
        try:
            got = yield recorded()
            log.append((got, recorded()))
            yield "second"
        except ValueError as error:
            log.append((str(error), recorded()))
            yield "caught"
        finally:
            log.append(("closed", recorded()))
        return None

    g = f()
    assert next(g) is False
    assert g.send("hello") == "second"
    assert g.throw(ValueError("thrown")) == "caught"
    assert recorded()
    g.close()
    assert log == [("hello", False), ("thrown", False), ("closed", False)]


def test_exceptions_restore_the_mode() -> None:
    for mode in (sd.no_grad, sd.inference_mode, lambda: sd.set_grad_enabled(False), sd.autograd.detect_anomaly):
        with pytest.raises(ZeroDivisionError), mode():
            raise ZeroDivisionError
        assert recorded()

    @sd.no_grad
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert recorded()


def test_modes_are_local_to_a_thread() -> None:
    inside, leave = threading.Event(), threading.Event()
    seen: list[bool] = []

    def work() -> None:
        seen.append(recorded())
        with sd.no_grad():
            inside.set()
            leave.wait(10)
        seen.append(recorded())

    thread = threading.Thread(target=work)
    with sd.no_grad():
        thread.start()
        assert inside.wait(10)
    assert recorded()
    leave.set()
    thread.join()
    assert seen == [True, True]


def test_what_is_made_in_no_grad_mode_is_a_constant() -> None:
    x = leaf()
    with sd.no_grad():
        c = x * 2.0
    assert not c.requires_grad and c.grad_fn is None and c.is_leaf
    np.sum(x * c).backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_leaf_made_in_no_grad_mode_is_a_leaf() -> None:
    with sd.no_grad():
        x = sd.ones(3, requires_grad=True)
        assert x.requires_grad and x.is_leaf
    np.sum(x * 2.0).backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_backward_works_in_no_grad_mode() -> None:
    x = leaf()
    out = np.sum(x * x)
    with sd.no_grad():
        out.backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_create_graph_works_in_no_grad_mode_as_elsewhere() -> None:
    x = leaf()
    out = np.sum(x**3)
    (g,) = sd.autograd.grad(out, x, create_graph=True)
    assert g.requires_grad
    (gg,) = sd.autograd.grad(np.sum(g), x)
    assert gg.tolist() == [6.0, 6.0, 6.0] and not gg.requires_grad


def test_inference_tensors_stay_out_of_graphs() -> None:
    with sd.inference_mode():
        c = sd.ones(3) * 2.0
        assert c.is_inference() and sd.is_inference_mode_enabled()
    x = leaf()
    assert (c + 1.0).requires_grad is False
    assert (x + c).requires_grad
    for operation in (lambda: x * c, lambda: c * x, lambda: x / c, lambda: np.maximum(x, c), lambda: np.outer(c, x)):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            operation()
    with pytest.raises(RuntimeError, match="requires_grad=True on inference tensor outside InferenceMode"):
        c.requires_grad_()
    with pytest.raises(RuntimeError, match="do not track version counter"):
        _ = c._version
    assert (x * c.clone()).requires_grad


def test_grad_functions_record_in_no_grad_mode() -> None:
    with sd.no_grad():
        assert sd.grad(lambda x: x * x)(3.0) == 6.0
        assert not sd.is_grad_enabled()


def test_anomaly_mode_names_the_function_and_the_line() -> None:
    for options in ({}, {"compile_after": 1}):
        with sd.config(**options):
            for _ in range(3):
                x = sd.from_numpy(np.zeros(2)).requires_grad_()
                with sd.autograd.detect_anomaly():
                    y = np.sqrt(x) * 0.0  # the slope is infinite, times zero
                    with pytest.raises(RuntimeError, match=r"SqrtBackward0.*nan values(.|\n)*test_modes\.py") as error:
                        y.sum().backward()
                    assert "y = np.sqrt(x) * 0.0" in str(error.value)
                assert x.grad is None


def test_anomaly_mode_can_be_switched() -> None:
    sd.autograd.set_detect_anomaly(True)
    assert sd.is_anomaly_enabled()
    sd.autograd.set_detect_anomaly(False)
    with sd.autograd.set_detect_anomaly(True):
        assert sd.is_anomaly_enabled()
    assert not sd.is_anomaly_enabled()
