"""Gradient functions written with `srcdiff.numpy` are replayed as those written with NumPy are."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import srcdiff as sd
import srcdiff.numpy as np
from tests.replay import fuzz, generated

W = numpy.array([0.5, 2.0, 1.5])


def loss(x: Any) -> Any:
    made = np.zeros(3)
    made[1:] = np.tanh(x[:2]) * W[1:]
    return np.sum(np.asarray([x[0], 2.0]) ** 2) + np.linalg.norm(made + np.exp(W)) * np.mean(x)


def slopes(x: Any) -> Any:
    step = 1e-6 * numpy.eye(3)
    return [(float(loss(x + h)) - float(loss(x - h))) / 2e-6 for h in step]


def test_replayed_gradients_are_right() -> None:
    gradient, rng = sd.grad(loss), numpy.random.default_rng(0)
    for _ in range(5):
        x = rng.random(3)
        numpy.testing.assert_allclose(gradient(x), slopes(x), rtol=1e-6)
    assert gradient.cache_info().replayed > 0
    W[2] *= 3.0
    numpy.testing.assert_allclose(gradient(x), slopes(x), rtol=1e-6)


@pytest.mark.parametrize("name", ["tanh", "exp", "zeros"])
def test_a_function_that_was_replaced_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gradient, x = sd.grad(loss), numpy.array([0.3, 0.6, 0.9])
    before = [gradient(x) for _ in range(4)][-1]
    assert gradient.cache_info().replayed > 0
    known = getattr(np, name)
    monkeypatch.setattr(np, name, lambda *args: known(*args) + 0.5)
    changed = gradient(x)
    assert not numpy.allclose(changed, before)
    numpy.testing.assert_allclose(changed, slopes(x), rtol=1e-6)


def test_random_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    head = generated.HEAD.replace("def helper(", "import srcdiff.numpy as np\n\ndef helper(", 1)
    compare = fuzz.same
    monkeypatch.setattr(generated, "HEAD", head)
    monkeypatch.setattr(fuzz, "same", lambda a, b, *rest: compare(plain(a), plain(b), *rest))
    assert sum(fuzz.run(seed, exact=seed % 2 == 0, effects=seed % 3 == 0)[0] for seed in range(24)) > 0


def plain(x: Any) -> Any:
    """What a function kept for itself, as an array."""
    return x.detach().numpy() if isinstance(x, sd.Tensor) else x
