"""`sd.grad(f, holomorphic=True)`: the complex derivative df/dz.

With the cotangent 1, a backward pass gives the conjugate of df/dz, by PyTorch's convention; with 1j it gives 1j times
that if, and only if, f is holomorphic at the point. Both are computed, so a function that is not is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.api.gradient import Grad, gradients_of, outside, release
from srcdiff.api.replayed import Traced
from srcdiff.ops.elementwise import conj
from srcdiff.tape.value import TensorBase


class HolomorphicGrad(Grad):
    """What `sd.grad` and `sd.value_and_grad` return for `holomorphic=True`: traced at every call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._given(*self._traced_call(args, kwargs))

    def _forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return "traced on every call, because complex derivatives are"

    def _traced_call(self, args: tuple[Any, ...], kwargs: dict[str, Any], compiling: bool = True) -> Traced:
        run = self._trace(args, kwargs)
        value, aux = self._complex_result(run.result)
        for leaf in run.leaves:
            dtype = np.asarray(leaf._value if isinstance(leaf, TensorBase) else leaf).dtype
            if dtype.kind != "c":
                raise TypeError(f"{self._what} with holomorphic=True needs complex arguments, got {dtype}")
        found, is_open = gradients_of(run, value, None, True, self._counts, compiling)
        turned, _ = gradients_of(
            run, value, value._value.dtype.type(1j) * np.ones_like(value._value), False, None, False
        )
        for one, other in zip(found, turned, strict=True):
            if not np.allclose(_array(one) * 1j, _array(other), rtol=1e-4, atol=1e-6, equal_nan=True):
                raise TypeError(
                    f"{self._what} with holomorphic=True needs a holomorphic function, but this one has no complex "
                    "derivative: it uses the conjugate, the absolute value, or the real or imaginary part"
                )
        gradient = self._structured(run.rebuild([conj(g) for g in found]))
        return outside(value, run, is_open), gradient, None if aux is None else release(aux, run)

    def _complex_result(self, result: Any) -> tuple[Any, Any]:
        aux = None
        if self._has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise TypeError(f"{self._what} with has_aux=True: the function must return (value, aux)")
            result, aux = result
        value = result._value if isinstance(result, TensorBase) else np.asarray(result)
        if value.size != 1 or value.dtype.kind != "c" or not isinstance(result, TensorBase):
            raise TypeError(
                f"{self._what} with holomorphic=True needs a function that returns a complex scalar which depends on "
                f"its arguments, got {value.dtype} of shape {value.shape}"
            )
        return result, aux


class HolomorphicValueAndGrad(HolomorphicGrad):
    """What `sd.value_and_grad` returns for `holomorphic=True`."""

    with_value = True


def _array(g: Any) -> Any:
    return g._value if isinstance(g, TensorBase) else np.asarray(g)
