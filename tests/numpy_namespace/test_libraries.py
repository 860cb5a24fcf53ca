"""Gradients flow through SciPy's and scikit-learn's code for the array API standard, or are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

pytest.importorskip("scipy", minversion="1.15")
from tests.numpy_namespace.libraries import LEARN, REFUSED, SCIPY

ROOT = Path(__file__).parents[2]


@cache
def results() -> dict[str, Any]:
    """What the calls gave in a process where SciPy follows the standard, which is decided when it is imported."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(ROOT)}
    run = [sys.executable, "-m", "tests.numpy_namespace.libraries"]
    printed = subprocess.run(run, capture_output=True, text=True, check=True, env=environment, cwd=ROOT).stdout
    return {found.pop("call"): found for found in map(json.loads, printed.splitlines())}


@pytest.mark.parametrize("call", [*SCIPY, *LEARN])
def test_gradients_flow(call: str) -> None:
    if call in LEARN:
        pytest.importorskip("sklearn", minversion="1.6")
    found = results()[call]
    assert found.get("same"), found
    for way in ("backward", "grad"):
        np.testing.assert_allclose(found[way], found["differences"], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_compiled_is_refused(call: str) -> None:
    found = results()[call]
    assert found.get("error") in ("GradientLostError", "UnsupportedError"), found


def test_without_the_switch_scipy_does_what_it_did() -> None:
    import scipy.special

    x = sd.tensor([0.5, 1.0], dtype=sd.float64, requires_grad=True)
    scipy.special.expit(x).sum().backward()
    p = scipy.special.expit(np.array([0.5, 1.0]))
    np.testing.assert_allclose(x.grad, p * (1 - p))
    with pytest.raises(sd.errors.GradientLostError):
        scipy.special.logsumexp(x)
    assert scipy.special.logsumexp(x.detach()) == scipy.special.logsumexp(np.array([0.5, 1.0]))
