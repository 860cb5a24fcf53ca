"""Importing this module fills the dispatch tables."""

from __future__ import annotations

from srcdiff.functions import (  # noqa: F401
    arranging,
    assembly,
    bytes,
    counting,
    creation,
    cumulative,
    editing,
    fft,
    indexing,
    joining,
    linalg,
    nanreductions,
    norms,
    polynomials,
    products,
    ranges,
    reductions,
    scimath,
    selection,
    sets,
    shaping,
    statistics,
    ufuncs,
)
