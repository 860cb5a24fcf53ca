"""Importing this module declares every primitive."""

from __future__ import annotations

from srcdiff.ops import (  # noqa: F401
    convolution,
    cumulative,
    decompositions,
    einsum,
    elementwise,
    families,
    filters,
    fourier,
    incomplete,
    indexing,
    layers,
    linalg,
    loops,
    losses,
    masks,
    matrix_functions,
    neural,
    pull,
    reductions,
    selection,
    shaping,
    sparse,
    special,
    special_scipy,
    structural,
    torchlike,
    transcendental,
    zeros,
)
