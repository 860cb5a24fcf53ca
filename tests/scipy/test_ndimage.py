"""`srcdiff.scipy.ndimage` against SciPy and against differences."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.scipy
from srcdiff.errors import GradientLostError, UnsupportedError
from tests.scipy.check import check, check_values

pytest.importorskip("scipy")
known = inspect.signature(import_module("scipy.ndimage").correlate).parameters
AXES = pytest.mark.skipif("axes" not in known, reason="needs a newer SciPy")
rng = np.random.default_rng(8)
VALUES = {
    "m": rng.uniform(-1.0, 1.0, (5, 6)), "w": rng.uniform(-1.0, 1.0, (3, 2)), "k": rng.uniform(-1.0, 1.0, 3),
    "q": rng.uniform(-1.0, 1.0, 4), "v": rng.uniform(-1.0, 1.0, 7),
    # not on the grid, inside and outside of it
    "c": np.array([[0.3, 1.6, 3.7, -0.4, 4.35, 2.2], [0.7, 2.4, 4.6, 1.3, 5.2, -1.2]]),
    "s": np.array([0.3, -1.2]), "a": np.array(31.0), "A": np.array([[0.93, 0.21], [-0.13, 0.77]]),
    "o": np.array([0.31, 0.43]),
}  # fmt: skip
MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-mirror", "grid-constant"]

FILTERS = [
    *[f"sp.ndimage.{f}(m, k, mode={mode!r}, cval=0.3)" for f in ("correlate1d", "convolve1d") for mode in MODES],
    *[f"sp.ndimage.{f}(m, q, axis=0, origin={o})" for f in ("correlate1d", "convolve1d") for o in (-1, 0, 1)],
    *[f"sp.ndimage.{f}(m, w, mode={mode!r}, cval=0.3)" for f in ("correlate", "convolve") for mode in MODES[:5]],
    *[f"sp.ndimage.{f}(m, w, origin=(1, {o}))" for f in ("correlate", "convolve") for o in (-1, 0)],
    pytest.param("sp.ndimage.correlate(m, k, axes=(1,))", marks=AXES), "sp.ndimage.convolve(v, k)",
    *[f"sp.ndimage.gaussian_filter(m, 0.7, mode={mode!r}, cval=0.3)" for mode in MODES],
    "sp.ndimage.gaussian_filter(m, (0.5, 1.2), order=(1, 0), truncate=2.0)", "sp.ndimage.gaussian_filter(m, [0, 1.0])",
    "sp.ndimage.gaussian_filter(m, 1.0, radius=1, axes=(0,))", "sp.ndimage.gaussian_filter1d(m, 0.8, 0, 2)",
    "sp.ndimage.gaussian_filter1d(v, 1.0, order=3, mode='wrap')",
    "sp.ndimage.uniform_filter(m)", "sp.ndimage.uniform_filter(m, (2, 3), origin=(0, 1))",
    "sp.ndimage.uniform_filter1d(v, 4, mode='nearest', origin=-1)",
    "sp.ndimage.sobel(m)", "sp.ndimage.sobel(m, 0, mode='constant', cval=0.2)",
    "sp.ndimage.prewitt(m, mode=['wrap', 'mirror'])",
    "sp.ndimage.laplace(m)", "sp.ndimage.gaussian_laplace(m, 0.8)",
    "sp.ndimage.gaussian_laplace(m, (0.5, 1.0), truncate=2)",
    "sp.ndimage.gaussian_gradient_magnitude(m, 0.8)",
    "sp.ndimage.maximum_filter(m, 3)", "sp.ndimage.minimum_filter(m, (2, 3), mode='constant', cval=-0.2)",
    "sp.ndimage.maximum_filter(m, footprint=[[1, 0], [1, 1]], origin=(-1, 0))", "sp.ndimage.maximum_filter1d(m, 4, 0)",
    "sp.ndimage.minimum_filter1d(v, 3, origin=1)", "sp.ndimage.median_filter(m, 3)", "sp.ndimage.median_filter(v, 4)",
]  # fmt: skip
SPLINES = [
    *[f"sp.ndimage.map_coordinates(m, c, order={n}, mode={mode!r}, cval=0.3)" for n in (1, 3) for mode in MODES],
    *[f"sp.ndimage.map_coordinates(m, c, order={n})" for n in (2, 4, 5)],
    "sp.ndimage.map_coordinates(m, c, order=3, prefilter=False)",
    *[f"sp.ndimage.shift(m, (0.6, -1.3), order={n}, mode={mode!r})" for n in (0, 1, 3) for mode in MODES],
    "sp.ndimage.shift(m, 1.5, cval=0.4)", "sp.ndimage.shift(m, s)", "sp.ndimage.shift(m, s, order=1, mode='nearest')",
    *[f"sp.ndimage.zoom(m, 1.7, order={n})" for n in (0, 1, 3)],
    "sp.ndimage.zoom(m, (0.5, 2), mode='reflect', grid_mode=True)",
    "sp.ndimage.affine_transform(m, A, o, mode='mirror')",
    "sp.ndimage.affine_transform(m, A[0], o, (3, 4), order=1, mode='nearest')",
    "sp.ndimage.rotate(m, a, order=1)", "sp.ndimage.rotate(m, a, reshape=False, mode='mirror')",
    "sp.ndimage.spline_filter(m)", "sp.ndimage.spline_filter1d(m, 2, 0)",
]  # fmt: skip


def values_of(call: str) -> dict[str, Any]:
    names = compile(call, "call", "eval").co_names
    return {name: value for name, value in VALUES.items() if name in names}


@pytest.mark.filterwarnings("ignore:The behavior of affine_transform with a 1-D array:UserWarning")  # SciPy 1.13
@pytest.mark.parametrize("call", [*FILTERS, *SPLINES])
def test_values_and_derivatives(call: str) -> None:
    # third derivatives of a spline jump at the elements: small steps where many points move over many of them
    step = {"h": 1e-5, "accuracy": 1e-6} if "affine" in call else {}
    check(call, values_of(call), rtol=1e-10, **step)


@pytest.mark.parametrize("call", ["gaussian_filter(m, 1.0)", "zoom(m, 2)", "uniform_filter(m)"])
def test_float32_stays_float32(call: str) -> None:
    check_values(f"sp.ndimage.{call}", {"m": VALUES["m"].astype(np.float32)}, 1e-5)


def test_output_is_a_dtype_or_refused() -> None:
    m = sd.tensor(VALUES["m"], requires_grad=True)
    assert sd.scipy.ndimage.laplace(m, output=np.float32).dtype == np.float32
    with pytest.raises(UnsupportedError, match="an array as output"):
        sd.scipy.ndimage.laplace(m, output=np.zeros((5, 6)))


def test_a_width_under_differentiation_is_refused() -> None:
    with pytest.raises(GradientLostError, match="sigma"):
        sd.grad(lambda s: np.sum(sd.scipy.ndimage.gaussian_filter(VALUES["m"], s)))(1.0)


def test_what_is_missing_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"scipy\.ndimage\.distance_transform_edt"):
        sd.grad(lambda m: np.sum(sd.scipy.ndimage.distance_transform_edt(m)))(VALUES["m"])
