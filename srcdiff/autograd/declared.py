"""`primitive`, `defvjp`, `defjvp`: a Python function as one operation, whose derivative its author gives.

    @sd.primitive
    def logsumexp(x):
        high = np.max(x)
        return high + np.log(np.sum(np.exp(x - high)))

    sd.defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))

The function sees plain arrays, so it may call anything. Its rules see arrays as well, and Tensors where a derivative is
to be differentiated again: what a rule computes with NumPy then differentiates too. Graphs with such an operation are
walked, as those with custom Functions are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff.autograd.function import Function
from srcdiff.autograd.transposing import transposed
from srcdiff.errors import DTypeError, NotDifferentiableError, UnsupportedError
from srcdiff.functions.assembly import differentiated, values
from srcdiff.functions.dispatch import FUNCTIONS, UFUNCS
from srcdiff.functions.ufuncs import UFUNC_FUNCTIONS
from srcdiff.origin import where
from srcdiff.tape import record
from srcdiff.tape.modes import modes
from srcdiff.tape.site import user_place
from srcdiff.tape.value import TensorBase

_DISPATCHER = type(np.sum)


class Declared:
    """What `primitive` gives: a function that is recorded as one operation."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self.vjps: dict[int, Any] = {}
        self.jvps: dict[int, Any] = {}
        self.operation: Any = type(self.name, (_Operation,), {"__module__": __name__})

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(x, TensorBase) for x in args):
            self._check(args, kwargs)
            return self.function(*map(values, args), **{name: values(x) for name, x in kwargs.items()})
        if modes.recorder is not None:
            modes.recorder.fail(f"it calls {self.name}, whose derivative the user has given")
        self._check(args, kwargs)
        return self.operation.apply(self, kwargs, *args)

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse what would lose a gradient."""
        if not modes.grad:
            return
        for name, x in (*enumerate(args), *kwargs.items()):
            what = f"argument {name}" if isinstance(name, int) else f"the argument {name}="
            if isinstance(x, TensorBase) and isinstance(name, int):
                if x._edge is not None and name not in self.vjps and name not in self.jvps:
                    raise NotDifferentiableError(
                        f"{self.name} has no derivative with respect to {what}, at {where(*user_place(3))}; "
                        f"sd.defvjp({self.name}, ..., argnums=({name},)) gives it one, with None if it is zero"
                    )
            elif differentiated(x):
                raise UnsupportedError(
                    f"{self.name}: {what} needs a gradient, at {where(*user_place(3))}; a primitive is differentiated "
                    "with respect to arrays given by position"
                )


def primitive(function: Callable[..., Any]) -> Any:
    """The function as one operation; its derivatives are those that `defvjp` or `defjvp` give it.

    It is called with plain arrays for Tensors and has to return an array or a number, or a tuple of them.
    """
    return function if isinstance(function, Declared) else Declared(function)


def defvjp(function: Any, *vjps: Any, argnums: Sequence[int] | None = None) -> None:
    """Give a primitive its vector-Jacobian products, one for each argument (or each of `argnums`).

    `vjp(ans, *args, **kwargs)` returns a function that takes the cotangent of the result (a tuple for several) to that
    of the argument, whose shape it has or broadcasts from; None stands for zero. `function` may also be a function or
    ufunc of NumPy's or SciPy's that has no derivative yet.
    """
    _declared(function, "defvjp").vjps.update(_numbered(vjps, argnums))


def defjvp(function: Any, *jvps: Any, argnums: Sequence[int] | None = None) -> None:
    """Give a primitive its Jacobian-vector products, one for each argument (or each of `argnums`).

    `jvp(t, ans, *args, **kwargs)` takes the tangent of the argument to that of the result; None stands for zero, "same"
    for a function that is linear in the argument: the function of the tangent. Forward mode uses them where they are,
    reverse mode (by turning them round, so not "same") where no vector-Jacobian product is given.
    """
    declared = _declared(function, "defjvp")
    for k, jvp in _numbered(jvps, argnums).items():
        declared.jvps[k] = _Same(declared, k) if isinstance(jvp, str) and jvp == "same" else jvp


def _numbered(rules: tuple[Any, ...], argnums: Sequence[int] | None) -> dict[int, Any]:
    places = range(len(rules)) if argnums is None else list(argnums)
    if len(places) != len(rules):
        raise ValueError(f"{len(rules)} rules were given for {len(places)} arguments")
    for rule in rules:
        if rule is not None and not callable(rule) and rule != "same":
            raise DTypeError(f"a rule is a function or None, not {rule!r}")
    return dict(zip(places, rules, strict=True))


def _declared(function: Any, caller: str) -> Declared:
    if isinstance(function, Declared):
        return function
    kind = type(function)
    if kind is not np.ufunc and kind is not _DISPATCHER:
        raise DTypeError(f"{caller} takes what sd.primitive has made, or a function of NumPy's; got {function!r}")
    table: dict[Any, Any] = UFUNC_FUNCTIONS if kind is np.ufunc else FUNCTIONS
    found = table.get(function)
    if isinstance(found, Declared):
        return found
    if found is not None or function in UFUNCS:
        raise ValueError(f"{function!r} has a derivative already")
    made = table[function] = Declared(function)
    return made


class _Same:
    """The rule of a function that is linear in argument k."""

    def __init__(self, declared: Declared, k: int) -> None:
        self.declared = declared
        self.k = k

    def __call__(self, t: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
        return self.declared(*args[: self.k], t, *args[self.k + 1 :], **kwargs)


# --------------------------------------------------------------------------------------------------- the operation


class _Operation(Function):
    """One call of a primitive, as a custom Function. Its arguments are the primitive, keywords and the arguments."""

    @staticmethod
    def forward(ctx: Any, declared: Declared, kwargs: dict[str, Any], *args: Any) -> Any:
        result = declared.function(*map(values, args), **{name: values(x) for name, x in kwargs.items()})
        traced = any(isinstance(x, TensorBase) and x._traced for x in args)
        several = isinstance(result, (tuple, list))
        outs = tuple(_wrapped(declared, part, args, traced) for part in (result if several else (result,)))
        ctx.declared, ctx.kwargs, ctx.several, ctx.count = declared, kwargs, several, len(args)
        ctx.plain = tuple(None if isinstance(x, TensorBase) else x for x in args)
        ctx.save_for_backward(*(x if isinstance(x, TensorBase) else None for x in args), *outs)
        return outs if several else outs[0]

    @staticmethod
    def backward(ctx: Any, *cts: Any) -> Any:
        ans, args = _kept(ctx, modes.grad)
        given = cts if modes.grad else tuple(map(values, cts))
        ct = given if ctx.several else given[0]
        return (None, None, *(_pulled(ctx, k, ct, ans, args) for k in range(ctx.count)))

    #: a rule runs only for arguments that have a tangent
    takes_absent_tangents = True

    @staticmethod
    def jvp(ctx: Any, declared: Any, kwargs: Any, *tangents: Any) -> Any:
        """The tangents of the outputs from those of the arguments that have one; NotImplemented without the rules."""
        moving = [k for k, t in enumerate(tangents) if t is not None]
        if any(k not in ctx.declared.jvps for k in moving):
            return NotImplemented
        ans, args = _kept(ctx, modes.grad)
        total: list[Any] = [None] * (len(ans) if ctx.several else 1)
        for k in moving:
            rule = ctx.declared.jvps[k]
            if rule is None:
                continue
            made = rule(tangents[k] if modes.grad else values(tangents[k]), ans, *args, **ctx.kwargs)
            parts = made if ctx.several else (made,)
            total = [_sum(a, b) for a, b in zip(total, parts, strict=True)]
        return tuple(t if t is None or isinstance(t, TensorBase) else record.plain(np.asarray(t)[()]) for t in total)


def _sum(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def _wrapped(declared: Declared, value: Any, args: tuple[Any, ...], traced: bool) -> Any:
    if isinstance(value, TensorBase):
        value = value._value
    if isinstance(value, (bool, int, float, complex)):
        value = np.asarray(value)[()]
    if not isinstance(value, (np.ndarray, np.generic)):
        raise DTypeError(
            f"{declared.name} has to return an array or a number, or a tuple of them; got {type(value).__name__}"
        )
    if isinstance(value, np.ndarray) and any(
        isinstance(x, TensorBase) and np.may_share_memory(value, x._value) for x in args
    ):
        value = value.copy()
    return record.plain(value, traced)


def _kept(ctx: Any, recording: bool) -> tuple[Any, list[Any]]:
    """The result and the arguments, as arrays unless what is done with them is recorded."""
    saved = ctx.saved_tensors
    args = [x if t is None else t for t, x in zip(saved[: ctx.count], ctx.plain, strict=True)]
    outs = saved[ctx.count :]
    if not recording:
        args, outs = [values(x) if isinstance(x, TensorBase) else x for x in args], tuple(map(values, outs))
    return outs if ctx.several else outs[0], args


def _pulled(ctx: Any, k: int, ct: Any, ans: Any, args: list[Any]) -> Any:
    """The cotangent of argument k."""
    if not ctx.needs_input_grad[k + 2]:
        return None
    declared = ctx.declared
    if k in declared.vjps:
        made = _by_rule(ctx, k, ct, ans, args)
    elif declared.jvps[k] is None:
        made = None
    elif isinstance(declared.jvps[k], _Same):
        raise NotDifferentiableError(
            f'{declared.name} has the rule "same" for argument {k} and no vector-Jacobian product, which reverse mode '
            f"needs; sd.defvjp({declared.name}, ..., argnums=({k},)) gives it one"
        )
    else:
        value = values(args[k])
        made = transposed(lambda t: declared.jvps[k](t, ans, *args, **ctx.kwargs), value, ct, modes.grad)
    if made is None:
        made = np.zeros(np.shape(values(args[k])), np.asarray(values(args[k])).dtype)
    return made if isinstance(made, TensorBase) else np.asarray(made)


def _by_rule(ctx: Any, k: int, ct: Any, ans: Any, args: list[Any]) -> Any:
    declared = ctx.declared
    rule = declared.vjps[k]
    if rule is None:
        return None
    pull = rule(ans, *args, **ctx.kwargs)
    if not callable(pull):
        raise DTypeError(
            f"the rule of {declared.name} for argument {k} has to return a function of the cotangent, not a "
            f"{type(pull).__name__}"
        )
    return pull(ct)
