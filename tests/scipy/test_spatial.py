"""`srcdiff.scipy.spatial.distance` against SciPy and against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.scipy
from srcdiff.errors import UnsupportedError
from tests.scipy.check import check

pytest.importorskip("scipy")
rng = np.random.default_rng(2)
VALUES = {
    "u": rng.uniform(0.2, 1.0, 5), "v": rng.uniform(1.1, 2.0, 5), "w": rng.uniform(0.2, 1.0, 5),
    "a": rng.uniform(0.1, 1.0, (4, 3)), "b": rng.uniform(1.2, 2.0, (3, 3)), "h": rng.uniform(0.5, 1.5, 3),
    "k": np.array([[1.2, 0.1, 0.0], [0.1, 0.9, 0.2], [0.0, 0.2, 1.4]]),
}  # fmt: skip
NAMES = "braycurtis canberra chebyshev cityblock correlation cosine euclidean minkowski sqeuclidean".split()
CALLS = [
    *[f"{name}(u, v)" for name in NAMES],
    *[f"{name}(u, v, w=w)" for name in NAMES if name != "chebyshev"],
    "minkowski(u, v, 3)", "minkowski(u, v, p=1.5, w=w)", "correlation(u, v, centered=False)", "jensenshannon(u, v)",
    "jensenshannon(a, a[::-1] ** 2, 2.0)", "jensenshannon(a, a[::-1] ** 2, axis=1, keepdims=True)",
    "seuclidean(a[0], b[0], h)", "mahalanobis(a[0], b[0], k)",
    *[f"cdist(a, b, {name!r})" for name in [*NAMES, "seuclidean", "jensenshannon"]],
    "cdist(a, b)", "cdist(a, b, 'minkowski', p=3.0)", "cdist(a, b, 'minkowski', p=1)",
    "cdist(a, b, 'mahalanobis', VI=k)",
    "cdist(a, b, 'seuclidean', V=h)", "cdist(a, b, 'euclidean', w=h)", "cdist(a, b, 'mahalanobis')",
    *[f"pdist(b, {name!r})" for name in [*NAMES, "seuclidean"]], "pdist(a, 'mahalanobis')",
    "squareform(pdist(a))", "squareform(h)", "squareform(squareform(pdist(a)) * 2.0)",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_values_and_derivatives(call: str) -> None:
    from scipy.spatial import distance

    names = compile(call, "call", "eval").co_names
    values: dict[str, Any] = {name: value for name, value in VALUES.items() if name in names}
    functions = [name for name in names if hasattr(distance, name)]
    for name in sorted(functions, key=len, reverse=True):
        call = call.replace(f"{name}(", f"sp.spatial.distance.{name}(") if f".{name}(" not in call else call
    check(call, values, rtol=1e-10)


def test_distances_by_a_function_of_the_users() -> None:
    f = lambda x: np.sum(sd.scipy.spatial.distance.cdist(x, VALUES["b"], lambda u, v: np.sum((u - v) ** 4)))
    np.testing.assert_allclose(
        sd.grad(f)(VALUES["a"]), 4 * np.sum((VALUES["a"][:, None] - VALUES["b"]) ** 3, axis=1), rtol=1e-12
    )


def test_points_that_coincide_have_the_gradient_zero() -> None:
    x = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0]])
    g = sd.grad(lambda x: np.sum(sd.scipy.spatial.distance.pdist(x)))(x)
    assert np.all(np.isfinite(g)) and g[2] @ np.array([2.0, -1.0]) > 0


def test_metrics_of_truth_values_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="jaccard"):
        sd.grad(lambda a: np.sum(sd.scipy.spatial.distance.cdist(a, VALUES["b"], "jaccard")))(VALUES["a"])
    with pytest.raises(UnsupportedError, match="hamming"):
        sd.grad(lambda u: sd.scipy.spatial.distance.hamming(u, VALUES["v"]))(VALUES["u"])


def test_shapes_are_checked_as_in_scipy() -> None:
    with pytest.raises(ValueError, match="number of columns"):
        sd.grad(lambda a: np.sum(sd.scipy.spatial.distance.cdist(a, np.ones((2, 2)))))(VALUES["a"])
    with pytest.raises(ValueError, match="1-D"):
        sd.grad(lambda a: np.sum(sd.scipy.spatial.distance.euclidean(a, a)))(VALUES["a"])
