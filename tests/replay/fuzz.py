"""Running one random module twice, with replays and without, and comparing everything that can be seen of each call."""

from __future__ import annotations

import copy
import linecache
import random
import warnings
from typing import Any

import numpy as np

import srcdiff as sd
from tests.replay.generated import module
from tests.replay.patterns import ACTIONS


class Side:
    """One of the two copies of a module."""

    def __init__(
        self, text: str, name: str, with_source: bool, form: str, argnums: Any, options: dict[str, Any]
    ) -> None:
        self.space: dict[str, Any] = {"__name__": name, "sd": sd}
        if with_source:
            linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec"), self.space)
        self.gradient = getattr(sd, form)(self.space["f"], argnums=argnums)
        self.options = options

    def call(self, args: list[Any], kwargs: dict[str, Any], errors: str) -> tuple[Any, ...]:
        """What comes of a call: the result or the error, and the warnings."""
        with (
            sd.config(**self.options),
            warnings.catch_warnings(record=True) as caught,
            np.errstate(all=errors, under="ignore"),
        ):  # type: ignore[call-overload]
            warnings.simplefilter("always")
            try:
                outcome: Any = ("result", self.gradient(*args, **kwargs))
            except Exception as error:
                outcome = ("error", type(error).__name__, str(error))
        told = {(w.category.__name__, str(w.message)) for w in caught}
        return outcome, told

    def state(self) -> Any:
        """What effects are seen in."""
        space = self.space
        names = ("LOG", "COUNT", "STORE", "BUFFER", "A", "G", "K", "T")
        found = {name: space.get(name, "missing") for name in names}
        found["LOG"] = [str(type(part)) if isinstance(part, sd.Tensor) else part for part in space["LOG"]]
        found["list"], found["table"] = list(space["LIST"]), dict(space["TABLE"])
        found["thing"] = dict(vars(space["THING"]), scaled=None)
        found["calls"] = getattr(space["helper"], "calls", None)
        found["rng"] = space["RNG"].bit_generator.state["state"]
        return found


def same(a: Any, b: Any, ulps: float, scale: float = 0.0) -> bool:
    """Whether two results are the same in type, dtype, shape and value; `ulps` 0 for every bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, ulps, scale) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k], ulps, scale) for k in a)
    if not isinstance(a, (np.ndarray, np.generic, float)):
        return bool(a == b)
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if ulps == 0:
        return bool(np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"))
    eps = np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0.0
    scale = max(scale, float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))))
    return bool(np.allclose(x, y, rtol=ulps * eps, atol=ulps * eps * scale, equal_nan=True))


SPECIAL = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, 1e200, 2.0)


def arguments(r: random.Random, rng: Any, usual: float) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of one call; most calls are given what is `usual` besides arrays."""
    x, y = rng.normal(size=4), rng.normal(size=4)
    kind = 2.0 * r.random()
    if kind < 0.08:
        x[r.randrange(4)] = r.choice(SPECIAL)
    elif kind < 0.12:
        y[r.randrange(4)] = r.choice(SPECIAL)
    elif kind < 0.16:
        y = x
    elif kind < 0.2:
        whole = rng.normal(size=8)
        x, y = whole[::2], whole[1::2]
    elif kind < 0.24:
        whole = rng.normal(size=6)
        x, y = whole[:4], whole[2:]
    elif kind < 0.27:
        x.flags.writeable = y.flags.writeable = False
    elif kind < 0.31:
        x = x.astype(np.float32)
    elif kind < 0.34:
        y = rng.integers(-2, 4, size=4)
    elif kind < 0.37:
        x = rng.normal(size=5)
    elif kind < 0.39:
        x, y = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    elif kind < 0.41:
        y = r.choice([1.5, 2, True, np.float64(0.5), np.int64(3), [1.0, 2.0, 3.0, 4.0], None, (1.0, 2.0)])
    elif kind < 0.43:
        x = rng.normal(size=4) * 10
    elif kind < 0.45:
        y = y > 0
    elif kind < 0.47:
        x = r.choice([np.float64(0.7), 0.3, np.array(0.5), np.zeros(0), x.tolist()])
    args: list[Any] = [x, y]
    kwargs: dict[str, Any] = {}
    given = usual if r.random() < 0.7 else r.random()
    if given < 0.1:
        args.append(r.choice([2, 2.0, True, 3, np.int64(2), round(r.uniform(-1.0, 3.0), 3)]))
    elif given < 0.4:
        args.append(r.uniform(0.5, 3.0))
    elif given < 0.5:
        kwargs = r.choice([{"k": 3}, {"flag": True}, {"k": 2, "flag": False}, {"flag": False, "k": 2}, {"flag": 1}])
    return args, kwargs


class DisagreementError(AssertionError):
    """A replay could be told from tracing."""


def run(seed: int, *, exact: bool, effects: bool, calls: int = 16) -> tuple[int, str | None]:
    """Compare calls of a random module. The number of calls replayed, and why it is not replayed if it is not."""
    r = random.Random(seed * 2 + 1)
    rng = np.random.default_rng(seed)
    text = module(seed, effects)
    form = r.choice(["grad", "value_and_grad"])
    argnums = r.choice([0, 0, 0, (0, 1), 1])
    with_source = r.random() < 0.6
    name = f"fuzz_{seed}.py"
    common = {"exact": exact, "clone": with_source}
    left = Side(text, name, with_source, form, argnums, {**common, "replay": "auto"})
    right = Side(text, name, with_source, form, argnums, {**common, "replay": "never"})
    ulps = 0.0 if exact else 4_000.0
    history: list[str] = []
    usual = r.random()
    for turn in range(calls):
        if turn > 2 and r.random() < 0.2:
            action = r.choice(ACTIONS)
            history.append(action)
            for side in (left, right):
                try:
                    exec(compile(action, "action", "exec"), side.space)
                except Exception as error:
                    history.append(f"  {error!r}")
        state = rng.bit_generator.state
        choices = r.getstate()
        args, kwargs = arguments(r, rng, usual)
        rng.bit_generator.state = state
        r.setstate(choices)
        other_args, other_kwargs = arguments(r, rng, usual)
        errors = r.choice(["warn"] * 8 + ["raise", "ignore"])
        history.append(f"call {turn}: {args} {kwargs} errors={errors}")
        before = copy.deepcopy(args)
        one, told = left.call(args, kwargs, errors)
        two, expected = right.call(other_args, other_kwargs, errors)
        problem = None
        if one[0] != two[0] or (one[0] == "error" and one != two):
            problem = f"{one} instead of {two}"
        elif one[0] == "result" and not same(one[1], two[1], ulps):
            problem = f"{one[1]!r} instead of {two[1]!r}"
        elif told != expected:
            problem = f"warned of {told} instead of {expected}"
        elif not same(args, other_args, 0):
            problem = f"arguments became {args} instead of {other_args}"
        elif not same(left.state(), right.state(), 0):
            problem = f"state is {left.state()} instead of {right.state()}"
        if problem:
            lines = [
                text[text.index("def f(") : text.index("def alternative")],
                *history,
                problem,
                left.gradient._player.refused or "",
            ]
            raise DisagreementError("\n".join(map(str, lines)))
        del before
        spoil(one, args)
        spoil(two, other_args)
    return left.gradient.cache_info().replayed, left.gradient._player.refused


def spoil(outcome: Any, args: list[Any]) -> None:
    """Write into what a call gave: if it is memory that a later call uses, that call will be wrong."""
    if outcome[0] != "result":
        return
    for part in outcome[1] if isinstance(outcome[1], tuple) else (outcome[1],):
        for array in part if isinstance(part, tuple) else (part,):
            if (
                isinstance(array, np.ndarray)
                and array.flags.writeable
                and not any(np.shares_memory(array, a) for a in args if isinstance(a, np.ndarray))
            ):
                array[...] = 777
