"""`srcdiff.scipy.spatial.distance`: distances of vectors, of pairs of rows and of all pairs of two sets of rows.

At points that coincide the gradient of a distance is 0. Distances of truth values have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import distance as _original

from srcdiff.functions.dispatch import plain
from srcdiff.scipy.signal.convolution import operands
from srcdiff.scipy.support import constant, mirrors, rest_of, unsupported

__all__ = [
    "braycurtis", "canberra", "cdist", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "jensenshannon",
    "mahalanobis", "minkowski", "pdist", "seuclidean", "sqeuclidean", "squareform",
]  # fmt: skip

__getattr__ = rest_of(_original)

# Each metric below takes vectors along the last axis; the others broadcast.


def _weighted(x: Any, w: Any) -> Any:
    return x if w is None else x * w


def _root(total: Any, power: float = 0.5) -> Any:
    """`total ** power`, with the gradient 0 at 0."""
    zero = plain(total) == 0
    return np.where(zero, 0.0, np.where(zero, 1.0, total) ** power)


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighted((u - v) ** 2, w), axis=-1)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return _root(_sqeuclidean(u, v, w))


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighted(np.abs(u - v), w), axis=-1)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    # a weight says only whether a component counts
    return np.max(np.abs(u - v) if w is None else np.where(np.asarray(constant(w)) > 0, np.abs(u - v), 0.0), axis=-1)


def _minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    p = float(constant(p))
    if p <= 0:
        raise ValueError("p must be greater than 0")
    if p == 1:
        return _cityblock(u, v, w)
    if np.isinf(p):
        return _chebyshev(u, v, w)
    return _root(np.sum(_weighted(np.abs(u - v) ** p, w), axis=-1), 1.0 / p)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    size = np.abs(u) + np.abs(v)
    zero = plain(size) == 0
    return np.sum(_weighted(np.where(zero, 0.0, np.abs(u - v) / np.where(zero, 1.0, size)), w), axis=-1)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighted(np.abs(u - v), w), axis=-1) / np.sum(_weighted(np.abs(u + v), w), axis=-1)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    dot: Any = lambda a, b: np.sum(_weighted(a * b, w), axis=-1)
    return 1.0 - dot(u, v) / np.sqrt(dot(u, u) * dot(v, v))


def _correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    if not centered:
        return _cosine(u, v, w)
    share = 1.0 / u.shape[-1] if w is None else w / np.sum(w, axis=-1)
    mean: Any = lambda a: np.sum(a * share, axis=-1, keepdims=True)
    return _cosine(u - mean(u), v - mean(v), w)


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    return _root(np.sum((u - v) ** 2 / V, axis=-1))


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    d = u - v
    return _root(np.sum(np.matmul(d, VI) * d, axis=-1))


def _jensenshannon(p: Any, q: Any, base: Any = None) -> Any:
    p, q = p / np.sum(p, axis=-1, keepdims=True), q / np.sum(q, axis=-1, keepdims=True)
    m = (p + q) * 0.5

    def entropy(a: Any) -> Any:
        zero = plain(a) == 0
        return np.sum(np.where(zero, 0.0, a * np.log(np.where(zero, 1.0, a) / np.where(zero, 1.0, m))), axis=-1)

    total = entropy(p) + entropy(q)
    return _root((total if base is None else total / np.log(base)) * 0.5)


METRICS: dict[str, Callable[..., Any]] = {
    "braycurtis": _braycurtis, "canberra": _canberra, "chebyshev": _chebyshev, "cityblock": _cityblock,
    "correlation": _correlation, "cosine": _cosine, "euclidean": _euclidean, "jensenshannon": _jensenshannon,
    "mahalanobis": _mahalanobis, "minkowski": _minkowski, "seuclidean": _seuclidean, "sqeuclidean": _sqeuclidean,
}  # fmt: skip
_OTHER_NAMES = {
    "cheb": "chebyshev", "chebychev": "chebyshev", "ch": "chebyshev", "c": "cityblock", "manhattan": "cityblock",
    "cblock": "cityblock", "cb": "cityblock", "cos": "cosine", "co": "correlation", "euclid": "euclidean",
    "eu": "euclidean", "e": "euclidean", "js": "jensenshannon", "mahal": "mahalanobis", "mah": "mahalanobis",
    "mi": "minkowski", "m": "minkowski", "pnorm": "minkowski", "se": "seuclidean", "s": "seuclidean",
    "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
}  # fmt: skip


def _between(name: str) -> Any:
    metric = METRICS[name]

    def distance(u: Any, v: Any, *given: Any, **named: Any) -> Any:
        u, v = operands(u, v)
        if u.ndim != 1 or v.ndim != 1:
            raise ValueError("Input vector should be 1-D.")
        if u.shape != v.shape:
            raise ValueError(f"vectors of different lengths: {u.shape[0]} and {v.shape[0]}")
        return metric(u, v, *given, **named)

    return mirrors(getattr(_original, name))(distance)


braycurtis, canberra, chebyshev, cityblock = map(_between, "braycurtis canberra chebyshev cityblock".split())
correlation, cosine, euclidean, mahalanobis = map(_between, "correlation cosine euclidean mahalanobis".split())
minkowski, seuclidean, sqeuclidean = map(_between, "minkowski seuclidean sqeuclidean".split())


@mirrors(_original.jensenshannon)
def jensenshannon(p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False) -> Any:
    p, q = operands(p, q)
    made = _jensenshannon(np.moveaxis(p, axis, -1), np.moveaxis(q, axis, -1), base)
    return np.expand_dims(made, axis) if keepdims else made


def _rows(x: Any) -> Any:
    (x,) = operands(x)
    if x.ndim != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    return x


def _measured(metric: Any, a: Any, b: Any, together: Any, options: dict[str, Any]) -> Any:
    """The distances of the rows of a and b, which broadcast; `together` are all rows."""
    if callable(metric):
        pairs = np.broadcast_shapes(a.shape, b.shape)
        a, b = np.broadcast_to(a, pairs), np.broadcast_to(b, pairs)
        made = [metric(a[index], b[index], **options) for index in np.ndindex(*pairs[:-1])]
        return np.reshape(np.stack(made), pairs[:-1]) if made else np.zeros(pairs[:-1])
    name = _OTHER_NAMES.get(str(metric).lower(), str(metric).lower())
    if name not in METRICS:
        raise unsupported(f"scipy.spatial.distance: the metric {metric!r}")
    if name == "seuclidean" and options.get("V") is None:
        options = {**options, "V": np.var(together(), axis=0, ddof=1)}
    if name == "mahalanobis" and options.get("VI") is None:
        options = {**options, "VI": np.linalg.inv(np.cov(together().T)).T}
    return METRICS[name](a, b, **options)


@mirrors(_original.cdist)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    if out is not None:
        raise unsupported("scipy.spatial.distance.cdist: out=")
    a, b = _rows(XA), _rows(XB)
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    return _measured(metric, a[:, None, :], b[None, :, :], lambda: np.concatenate([a, b]), options)


@mirrors(_original.pdist)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    if out is not None:
        raise unsupported("scipy.spatial.distance.pdist: out=")
    x = _rows(X)
    first, second = np.triu_indices(x.shape[0], 1)
    return _measured(metric, x[first], x[second], lambda: x, options)


@mirrors(_original.squareform)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    (x,) = operands(X)
    _original.squareform(plain(x), force, checks)  # raises what is to be raised
    if x.ndim == 2:
        return x[np.triu_indices(x.shape[0], 1)]
    n = int(np.ceil(np.sqrt(2 * x.shape[0]))) if x.shape[0] else 1
    place = np.zeros((n, n), int)
    first, second = np.triu_indices(n, 1)
    place[first, second] = place[second, first] = np.arange(x.shape[0])
    return np.where(np.eye(n, dtype=bool), 0.0, x[place]) if x.shape[0] else np.zeros((1, 1))
