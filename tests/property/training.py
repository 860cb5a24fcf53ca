"""Training in one random world twice, compiled and not, and comparing everything that can be seen after each call."""

from __future__ import annotations

import contextlib
import gc
import io
import linecache
import random
import warnings
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

import srcdiff as sd
from tests.property.worlds import action, world
from tests.replay.fuzz import same

#: the longest sum in these programs has about as many terms
TERMS = 500


class Side:
    """One of the two copies of a world. Each has its own stream of random numbers and its own global settings."""

    def __init__(self, text: str, name: str, compiled: bool, options: dict[str, Any]) -> None:
        self.options = options
        self.space: dict[str, Any] = {"__name__": __name__, "sd": sd, "gc": gc}
        self.kept: list[Any] = []
        self._numbers: dict[int, tuple[Any, int]] = {}
        self._count = 0
        self.dtype = sd.float32
        self.rng = sd.get_rng_state()
        with self.here():
            sd.manual_seed(1)
            exec(compile(text, name, "exec"), self.space)
        self.space["FUNCTION"] = self.space["step"]
        if compiled:
            self.space["step"] = sd.compile(self.space["step"])

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """In this world's random numbers and settings."""
        state, dtype = sd.get_rng_state(), sd.get_default_dtype()
        sd.set_rng_state(self.rng)
        sd.set_default_dtype(self.dtype)
        try:
            with sd.config(**self.options):
                yield
        finally:
            self.rng, self.dtype = sd.get_rng_state(), sd.get_default_dtype()
            sd.set_rng_state(state)
            sd.set_default_dtype(dtype)

    def run(self, what: Any) -> tuple[Any, ...]:
        """What comes of `what()`: the result or the error, the warnings and what was printed."""
        printed = io.StringIO()
        with self.here(), warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            try:
                outcome: Any = ("result", what())
            except Exception as error:
                outcome = ("error", type(error).__name__, str(error))
        return outcome, sorted({(w.category.__name__, str(w.message)) for w in caught}), printed.getvalue()

    # ---------------------------------------------------------------------------------------------------- what is seen

    def number(self, thing: Any) -> int:
        """The number of an object: that of its first appearance."""
        known = self._numbers.get(id(thing))
        if known is None or known[0]() is not thing:
            self._count += 1
            known = self._numbers[id(thing)] = (ref(thing), self._count)
        return known[1]

    def tensor(self, tensor: Any, deep: bool = True) -> list[Any]:
        """All of a tensor."""
        array = tensor.numpy(force=True)
        found = [
            type(tensor).__name__, self.number(tensor), tensor.requires_grad, tensor.is_leaf, tensor._is_view(),
            tensor._inference or tensor._version, None if tensor.grad_fn is None else tensor.grad_fn.name(),
            array.strides if array.size else (), array.copy(),
        ]  # fmt: skip
        if deep and tensor.is_leaf and tensor.grad is not None:
            found.append(self.tensor(tensor.grad, False))
        return found

    def thing(self, value: Any) -> Any:
        """All of a value."""
        if isinstance(value, sd.Tensor):
            return self.tensor(value)
        if isinstance(value, np.ndarray):
            return ["array", value.copy(), value.flags.writeable]
        if isinstance(value, (list, tuple, deque)):
            return [type(value).__name__, *map(self.thing, value)]
        if isinstance(value, dict):
            return ["dict", *((key, self.thing(part)) for key, part in value.items())]
        if type(value).__name__ in ("Report", "Meter", "Batch", "Setting", "SimpleNamespace"):
            return [type(value).__name__, self.thing(vars(value))]
        if type(value).__name__ == "Slotted":
            return [self.thing(getattr(value, name, None)) for name in ("factor", "offset", "seen")]
        return value if isinstance(value, (int, float, str, bool, type(None), np.generic)) else type(value).__name__

    def model(self, model: Any) -> list[Any]:
        """All of a model."""
        found: list[Any] = [(name, self.tensor(p)) for name, p in model.named_parameters(remove_duplicate=False)]
        found += [(name, self.tensor(b)) for name, b in model.named_buffers(remove_duplicate=False)]
        for module in model.modules():
            plain = {k: v for k, v in vars(module).items() if isinstance(v, (int, float, str, list, sd.Tensor))}
            found.append([type(module).__name__, self.thing(plain)])
        return found

    def state(self) -> Any:
        """Everything that can be seen."""
        space = self.space
        optimizer, schedule = space["optimizer"], space["schedule"]
        names = (
            "LOG", "KEPT", "COUNT", "RATE", "TABLE", "WEIGHTS", "OFFSET", "LIMIT", "METER", "OPTIONS", "SLOTS",
            "SETTING", "OTHER", "PAIR", "QUEUE", "ORDERED", "DEFAULTS",
        )  # fmt: skip
        groups = [{**group, "params": [self.number(p) for p in group["params"]]} for group in optimizer.param_groups]
        return {
            **{name: self.thing(space[name]) for name in names},
            "model": self.model(space["model"]),
            "ema": self.model(space["ema"]),
            "optimizer": [(self.number(p), self.thing(dict(values))) for p, values in optimizer.state.items()],
            "groups": self.thing(groups),
            "schedule": [self.thing(schedule.last_epoch), self.thing(schedule._last_lr)],
            "random": self.rng,
            "results": [self.thing(value) for value in self.kept],
        }

    def arrays(self) -> Iterator[Any]:
        """The memory of all that has a state, to make two sides alike to the last bit."""
        space = self.space
        tensors = [space["OFFSET"], *(x for x in space["KEPT"] if isinstance(x, sd.Tensor))]
        for model in (space["model"], space["ema"]):
            tensors += [*model.parameters(), *model.buffers()]
        for tensor in tensors:
            yield tensor._array
            if tensor.is_leaf and tensor.grad is not None:
                yield tensor.grad._array
        for values in space["optimizer"].state.values():
            yield from (v._array for v in values.values() if isinstance(v, sd.Tensor))


def difference(a: Any, b: Any, ulps: float, scale: float, path: str = "") -> str | None:
    """Where two descriptions differ, and how."""
    if isinstance(a, dict) and isinstance(b, dict):
        if list(a) != list(b):
            return f"{path}: {list(a)} instead of {list(b)}"
        return next((d for k in a if (d := difference(a[k], b[k], ulps, scale, f"{path}.{k}"))), None)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b) or (a and isinstance(a[0], str) and a[0] != b[0]):
            return f"{path}: {a!r} instead of {b!r}"
        pairs = enumerate(zip(a, b, strict=True))
        return next((d for k, (x, y) in pairs if (d := difference(x, y, ulps, scale, f"{path}[{k}]"))), None)
    if ulps and type(a) is type(b) is float and max(abs(a), abs(b)) < 1e38:  # of a float32, like as not
        return difference(np.float32(a), np.float32(b), ulps, scale, path)
    return None if same(a, b, ulps, scale) else f"{path}: {a!r} instead of {b!r}"


SPECIAL = (0.0, -0.0, np.nan, np.inf, 1e30, -5.0)


def arguments(r: random.Random, rng: Any, side: Side, arrays: bool) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of one call; most are `arrays`, or else Tensors."""
    size = r.choice([4] * 40 + [3, 2, 1, 0, 5])
    x = rng.normal(size=(size, 3)).astype(np.float32)
    y: Any = rng.integers(0, 2, size)
    kind = r.random()
    if kind < 0.015 and size:
        x[0, r.randrange(3)] = r.choice(SPECIAL)
    elif kind < 0.025:
        x = x.astype(np.float64)
    elif kind < 0.03:
        x = rng.normal(size=(size, 4)).astype(np.float32)
    elif kind < 0.04:
        y = y + r.choice([1, 5, -1])
    elif kind < 0.05:
        x = np.asfortranarray(x)
    elif kind < 0.055:
        x = rng.normal(size=(size, 6)).astype(np.float32)[:, ::2]
    elif kind < 0.06:
        y = y.astype(r.choice([np.int32, np.float32, np.uint8]))
    elif kind < 0.065:
        x.flags.writeable = False
    first, second = x, y
    how = r.random()
    if how < 0.92 and arrays:
        pass
    elif how < 0.95:
        first, second = sd.as_tensor(x), sd.as_tensor(y)
    elif how < 0.96:
        first, second = sd.as_tensor(x).requires_grad_(), sd.as_tensor(y)
    elif how < 0.965:
        first, second = sd.as_tensor(x).requires_grad_() * 1.0, sd.as_tensor(y)
    elif how < 0.98 and size == 4 and hasattr(side.space["model"].out, "weight"):
        first, second = side.space["model"].out.weight.detach().T[:, [0, 1, 0]], sd.as_tensor(y)
    elif how < 0.99:
        second = x
    given = r.random()
    args = [first, second]
    kwargs: dict[str, Any] = {}
    if given < 0.03:
        args.append(r.choice([1, 3, 2.0, True, 0]))
    elif given < 0.06:
        kwargs = r.choice([{"k": 3}, {"k": 2}, {"k": 1.5}, {"scale": 2.0}])
    elif given < 0.07:
        args, kwargs = [first], {"y": second}
    if side.space["FORM"]:
        args[:2] = [side.space[side.space["FORM"]](first, second)]
        kwargs.pop("y", None)
    return args, kwargs


#: contexts of a call: what NumPy does about errors, and modes
SETTINGS = [
    *[""] * 60, "errors raise", "errors ignore", "no_grad", "inference", "anomaly", "interpret", "never", "check",
    "float64", "nested no_grad",
]  # fmt: skip


@contextlib.contextmanager
def setting(name: str) -> Iterator[None]:
    """One of `SETTINGS`, for a while; the default dtype until the next change."""
    with contextlib.ExitStack() as stack:
        if name.startswith("errors"):
            stack.enter_context(np.errstate(all=name.split()[1], under="ignore"))  # type: ignore[call-overload]
        elif name.endswith("no_grad"):
            stack.enter_context(sd.no_grad())
        elif name == "inference":
            stack.enter_context(sd.inference_mode())
        elif name == "anomaly":
            stack.enter_context(sd.autograd.detect_anomaly())
        elif name == "interpret":
            stack.enter_context(sd.config(backend="interpret"))
        elif name == "never":
            stack.enter_context(sd.config(replay="never"))
        elif name == "check":
            stack.enter_context(sd.config(check_replay=1))
        elif name == "float64":
            sd.set_default_dtype(sd.float64)
        yield


#: what is done with a result
REACTIONS = [
    "R.backward()", "R.backward(retain_graph=True)", "(R * 2).sum().backward()", "R.fill_(7.0)", "R.mul_(0.5)",
    "R.data.fill_(3.0)", "R.numpy().fill(1)", "R.requires_grad_()", "R.detach_()", "R['loss'] = 1", "R[0].fill_(2.0)",
    "R.loss = 1",
]  # fmt: skip


class DisagreementError(AssertionError):
    """A compiled step could be told from one that is not."""


class Training:
    """One world twice, compiled and not, with what has happened in it so far."""

    def __init__(self, seed: int, exact: bool) -> None:
        self.random = random.Random(seed * 2 + 1)
        self.numbers = np.random.default_rng(seed)
        self.text, name = world(seed, exact), f"world_{seed}.py"
        if self.random.random() < 0.5:
            linecache.cache[name] = (len(self.text), None, self.text.splitlines(True), name)
        self.sides = [Side(self.text, name, compiled, {"exact": exact}) for compiled in (True, False)]
        self.ulps = 0.0 if exact else 8.0 * TERMS
        self.arrays = self.random.random() < 0.2
        self.history: list[str] = []

    def compare(self, what: str, outcomes: list[Any]) -> None:
        """Raise DisagreementError unless both sides look alike, to rounding; they are then made so to the last bit."""
        told = [
            {
                "outcome": [side.thing(came[1]) if came[0] == "result" else came, *others],
                "state": side.state(),
            }
            for side, (came, *others) in zip(self.sides, outcomes, strict=True)
        ]
        found = difference(*told, self.ulps, 1.0)
        if found:
            refused = self.sides[0].space["step"]._player.refused
            lines = [self.text, *self.history, f"after {what}: {found}", f"refused: {refused}"]
            raise DisagreementError("\n".join(lines))
        if self.ulps:
            for mine, other in zip(*(side.arrays() for side in self.sides), strict=True):
                mine[...] = other

    def do(self, action: str) -> None:
        """Run a statement in both."""
        self.history.append(action)
        code = compile(action, "action", "exec")
        self.compare("this", [side.run(partial(exec, code, side.space)) for side in self.sides])

    def call(self, turn: int) -> None:
        """Call the step in both."""
        where = self.random.choice(SETTINGS)
        state, choices, outcomes = self.numbers.bit_generator.state, self.random.getstate(), []
        for side in self.sides:
            self.numbers.bit_generator.state = state
            self.random.setstate(choices)
            with side.here():
                args, kwargs = arguments(self.random, self.numbers, side, self.arrays)
            if not outcomes:
                self.history.append(f"call {turn}: {args} {kwargs} {where}")
            outcome = side.run(partial(_called, side.space["step"], args, kwargs, where))
            outcomes.append(outcome)
            side.space["R"] = outcome[0][1]
            side.kept = [*side.kept[-3:], args, outcome[0][1]]
        self.compare("the call", outcomes)


def _called(step: Any, args: Any, kwargs: Any, where: str) -> Any:
    with setting(where):
        return step(*args, **kwargs)


def train(seed: int, *, exact: bool, calls: int = 20) -> int:
    """Compare the calls of a random step. How many were replayed."""
    training = Training(seed, exact)
    choice = training.random
    for turn in range(calls):
        if turn > 1 and choice.random() < 0.2:
            training.do(action(choice))
        training.call(turn)
        if choice.random() < 0.3:
            training.do(choice.choice(REACTIONS))
    return int(training.sides[0].space["step"].cache_info().replayed)
