"""The one table of samples: primitive name -> calls at which the laws are checked."""

from __future__ import annotations

from tests.ops import samples_arrays, samples_math, samples_matrices, samples_nn, samples_scipy, samples_torch
from tests.ops.sample import Sample

TABLES = (
    samples_arrays.SAMPLES,
    samples_math.SAMPLES,
    samples_matrices.SAMPLES,
    samples_nn.SAMPLES,
    samples_scipy.SAMPLES,
    samples_torch.SAMPLES,
)
SAMPLES: dict[str, list[Sample]] = {name: samples for table in TABLES for name, samples in table.items()}
assert len(SAMPLES) == sum(map(len, TABLES)), "a primitive is in two tables"

#: What makes no sense by itself: `item` takes an output of another primitive.
WITHOUT_SAMPLES = {"item", "blocks", "loop", "pack", "pick", "stacked"}
