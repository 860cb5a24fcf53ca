"""The one table of samples: primitive name -> calls at which the laws are checked."""

from __future__ import annotations

from tests.ops import samples_arrays, samples_math
from tests.ops.sample import Sample

SAMPLES: dict[str, list[Sample]] = {**samples_arrays.SAMPLES, **samples_math.SAMPLES}
assert len(SAMPLES) == len(samples_arrays.SAMPLES) + len(samples_math.SAMPLES), "a primitive is in both tables"

#: What makes no sense by itself: `item` takes an output of another primitive.
WITHOUT_SAMPLES = {"item"}
