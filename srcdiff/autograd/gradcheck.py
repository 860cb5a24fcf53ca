"""`gradcheck` and `gradgradcheck`: derivatives compared with central differences, with PyTorch's signatures.

Guarantee: inputs are as they were when the check returns or raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcdiff.autograd.backward import grad
from srcdiff.autograd.modes import enable_grad
from srcdiff.autograd.numerical import analytical, directions, forward, numerical, pulled
from srcdiff.errors import ArgumentError, AutogradError
from srcdiff.tape.record import plain
from srcdiff.tape.value import TensorBase

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

Array = np.ndarray[Any, np.dtype[Any]]


class GradcheckError(AutogradError):
    """A derivative is wrong, or backward does what it must not."""


@dataclass(frozen=True, slots=True)
class Check:
    """One function at one point, and how exact its derivatives must be."""

    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float

    @property
    def differentiated(self) -> list[tuple[int, Any]]:
        """Number and value of the inputs that require grad."""
        return [(k, x) for k, x in enumerate(self.inputs) if isinstance(x, TensorBase) and x._edge is not None]

    def outputs(self) -> list[Any]:
        """The function's outputs that are float or complex Tensors."""
        with enable_grad():
            made = self.func(*self.inputs)
        outs = list(made) if isinstance(made, (tuple, list)) else [made]
        return [out for out in outs if isinstance(out, TensorBase) and out._value.dtype.kind in "fc"]

    def close(self, a: Array, b: Array) -> bool:
        """Whether two Jacobians agree."""
        return bool(np.allclose(a, b, rtol=self.rtol, atol=self.atol, equal_nan=True))


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """True if the derivatives of `func` at `inputs` agree with central differences of step `eps`.

    They do if `abs(a - n) <= atol + rtol * abs(n)` for each entry. Inputs that require grad should be float64 or
    complex128. If they disagree, or backward gives other results when run again (`nondet_tol`), cannot do without some
    of the outputs' gradients (`check_undefined_grad`), or gives a wrong dtype (`check_grad_dtypes`): GradcheckError, or
    False without `raise_exception`. `check_forward_ad` compares forward derivatives too, `check_batched_grad` gradients
    of several cotangents at once. `fast_mode` compares one random combination of the entries. `masked` is accepted and
    unused: it is about sparse tensors.
    """
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    check = Check(func, given, eps, atol, rtol, nondet_tol)
    if not (check_backward_ad or check_forward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    try:
        _check_inputs(check)
        outputs = check.outputs()
        _compare(check, outputs, check_backward_ad, check_forward_ad or check_batched_forward_grad, fast_mode)
        if check_backward_ad:
            _check_backward(check, outputs, check_undefined_grad, check_grad_dtypes, check_batched_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_inputs(check: Check) -> None:
    if not check.differentiated:
        raise ArgumentError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for k, x in check.differentiated:
        value = x._array
        if value.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{k} requires gradient and is not a double precision floating point or complex. This check "
                f"will likely fail if all the inputs are not of double precision floating point or complex.",
                UserWarning,
                stacklevel=3,
            )
        if any(step == 0 and length > 1 for step, length in zip(value.strides, value.shape, strict=True)):
            raise AutogradError(
                f"The {k}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                f"non-overlapping to be able to compute the numerical gradients correctly. You should call "
                f".contiguous on the input before passing it to gradcheck."
            )
        if x._requires:
            continue
        x.retain_grad()


def _compare(check: Check, outputs: Sequence[Any], backward: bool, ahead: bool, fast: bool) -> None:
    """Derivatives against central differences, for every output and input."""
    inputs = [x for _, x in check.differentiated]
    differences = [numerical(lambda: [out._value for out in check.outputs()], x._array, check.eps) for x in inputs]
    same = fast and np.random.default_rng(0)
    connected = [out for out in outputs if out._edge is not None]
    pushed = forward(connected, inputs) if ahead and connected else None
    for i, out in enumerate(outputs):
        if out._edge is None:
            for j, by_output in enumerate(differences):
                if any(not check.close(np.zeros_like(part), part) for part in by_output[i]):
                    raise GradcheckError(
                        f"Numerical gradient for function expected to be zero: output {i} does not require grad, but "
                        f"depends on input {check.differentiated[j][0]}"
                    )
            continue
        found = analytical(out, inputs) if backward else []
        for j, (number, x) in enumerate(check.differentiated):
            for d, expected in enumerate(differences[j][i]):
                if backward:
                    made = found[d][j]
                    _same(check, same, i, number, _or_zero(made, x, out), expected, d, "")
                if pushed is not None:
                    ahead_made = pushed[j][next(n for n, each in enumerate(connected) if each is out)][d]
                    _same(check, same, i, number, ahead_made, expected, d, "forward mode ")


def _or_zero(jacobian: Array | None, x: Any, out: Any) -> Array:
    return np.zeros((x._value.size, out._value.size), x._value.dtype) if jacobian is None else jacobian


def _same(check: Check, fast: Any, i: int, j: int, made: Array, expected: Array, direction: int, how: str) -> None:
    if fast:
        u, v = fast.random(expected.shape[0]), fast.random(expected.shape[1])
        made, expected = np.asarray(u @ made @ v), np.asarray(u @ expected @ v)
    if check.close(made, expected):
        return
    part = "" if not direction else "While considering the imaginary part of the output: "
    text = (
        f"{part}Jacobian mismatch for {how}output {i} with respect to input {j},\nnumerical:{expected}\n"
        f"analytical:{made}\n"
    )
    if not fast and made.size:
        error = np.abs(made - expected)
        row, column = np.unravel_index(int(np.nanargmax(error)) if not np.all(np.isnan(error)) else 0, error.shape)
        text += (
            f"The largest difference, {error[row, column]:.3g}, is at input element {row} and output element {column}: "
            f"numerical {expected[row, column]:.6g}, analytical {made[row, column]:.6g}"
        )
    raise GradcheckError(text)


def _check_backward(check: Check, outputs: Sequence[Any], undefined: bool, dtypes: bool, batched: bool) -> None:
    """What else backward must do."""
    inputs = [x for _, x in check.differentiated]
    rng = np.random.default_rng(0)
    connected = [out for out in outputs if out._edge is not None]
    for out in connected:
        ct = rng.random(out._value.shape).astype(out._value.dtype)
        first, second = pulled(out, inputs, ct), pulled(out, inputs, ct)
        for (number, x), a, b in zip(check.differentiated, first, second, strict=True):
            if a is None or b is None:
                continue
            if not np.allclose(a, b, rtol=0, atol=check.nondet_tol, equal_nan=True):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    f"gives different values, although analytical gradient matches numerical gradient: input "
                    f"{number}, largest difference {np.max(np.abs(a - b)):.3g}, tolerance nondet_tol={check.nondet_tol}"
                )
            if a.shape != x._value.shape:
                raise GradcheckError(f"grad is incorrect size: {a.shape} for input {number} of shape {x._value.shape}")
            if dtypes and a.dtype != x._value.dtype:
                raise GradcheckError(f"grad has dtype {a.dtype}, input {number} has dtype {x._value.dtype}")
    if undefined and connected:
        _check_undefined(check)
    if batched:
        for out in connected:
            _check_batched(check, out, rng)


def _check_undefined(check: Check) -> None:
    """Backward must cope with outputs whose gradients are not there: each alone, and all."""
    inputs = [x for _, x in check.differentiated]
    outputs = [out for out in check.outputs() if out._edge is not None]
    for k in range(len(outputs)):
        rest = [out for j, out in enumerate(outputs) if j != k] or outputs
        try:
            grad(rest, inputs, [plain(np.zeros_like(out._value)) for out in rest], retain_graph=True, allow_unused=True)
        except Exception as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. Please look at 'Notes about undefined "
                f"output gradients' in the documentation of autograd.Function: without the gradient of output {k} it "
                f"raised {error!r}"
            ) from error


def _check_batched(check: Check, out: Any, rng: np.random.Generator) -> None:
    inputs = [x for _, x in check.differentiated]
    cts = rng.random((2, *out._value.shape)).astype(out._value.dtype)
    together = grad([out], inputs, [plain(cts)], retain_graph=True, allow_unused=True, is_grads_batched=True)
    alone = [pulled(out, inputs, ct) for ct in cts]
    for j, batch in enumerate(together):
        if batch is not None and not np.allclose(batch._value, np.stack([np.asarray(row[j]) for row in alone])):
            raise GradcheckError(f"gradients of several cotangents at once differ from those of each, for input {j}")


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradients of `func`, as a function of `inputs` and of the outputs' cotangents `grad_outputs`.

    These are random if not given, `gen_non_contig_grad_outputs` in memory that is not contiguous.
    """
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    check = Check(func, given, eps, atol, rtol, nondet_tol)
    outputs = [out for out in check.outputs() if out._edge is not None]
    if grad_outputs is None:
        cts = _random_cotangents(outputs, gen_non_contig_grad_outputs)
    else:
        cts = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    count = len(cts)

    def slopes(*args: Any) -> tuple[Any, ...]:
        arguments, seeds = args[: len(args) - count], args[len(args) - count :]
        made = Check(func, arguments, eps, atol, rtol, nondet_tol)
        outs = [out for out in made.outputs() if out._edge is not None]
        xs = [x for _, x in made.differentiated]
        found = grad(outs, xs, list(seeds), create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        slopes,
        (*given, *cts),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_cotangents(outputs: Sequence[Any], strided: bool) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    made = []
    for out in outputs:
        shape, dtype = out._value.shape, out._value.dtype
        array = sum(rng.standard_normal(shape) * direction for direction in directions(dtype))
        array = np.asarray(array, dtype)
        if strided and shape:
            array = np.repeat(array, 2, axis=-1)[..., ::2]
        ct = plain(array)
        ct._requires = True
        ct.forget_place()
        made.append(ct)
    return tuple(made)
