"""Random numbers: generators with a seed and a state, and draws of plain arrays from them.

Guarantees: the same seed gives the same numbers on every platform that NumPy's PCG64 runs on; every function may be
called from several threads (each draw is whole, their order is the scheduler's); float32 draws are made in float32.
The names and the errors are PyTorch's, the stream is not: a seed gives other numbers than it gives in PyTorch, and than
it gives in `numpy.random`. Nothing here touches NumPy's own global generator.
"""

from __future__ import annotations

import functools
import operator
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, TypeVar

import numpy as np

from srcdiff.errors import DTypeError, RandomError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

Array = np.ndarray[Any, np.dtype[Any]]
Shape = Sequence[SupportsIndex]
F = TypeVar("F", bound="Callable[..., Any]")

#: The seed of a `Generator` that was given none, as in PyTorch: new generators all start alike.
_UNSEEDED: Final = 67280421310721

#: How a generator's state is laid out in bytes: PCG64's two 128-bit numbers in halves, its buffered 32 bits, the seed.
_STATE: Final = np.dtype(
    [("state", "<u8", 2), ("inc", "<u8", 2), ("has_uint32", "u1"), ("uinteger", "<u4"), ("seed", "<u8")]
)


class Generator:
    """A stream of random numbers that can be seeded, saved and restored.

    `device` is accepted as PyTorch's programs pass it; only "cpu" exists. Copies and pickles continue from the same
    state, apart from the original.
    """

    def __init__(self, device: Any = "cpu") -> None:
        if str(device) != "cpu":
            raise RandomError(f"Generator: device {str(device)!r} does not exist here, expected 'cpu'")
        self.device = "cpu"
        self._lock = threading.RLock()
        #: the thread that drew last, and how often that was another one than before
        self._drawer = self._turn = 0
        self._start(_UNSEEDED)

    def _start(self, seed: int) -> None:
        with self._lock:
            self._take_turn()
            self._seed = seed
            self._stream: np.random.Generator | None = None

    @property
    def _rng(self) -> np.random.Generator:
        """NumPy's generator, made when it is first needed: `numpy.random` takes a tenth as long to import as NumPy."""
        if self._stream is None:
            self._stream = np.random.Generator(np.random.PCG64(self._seed))
        return self._stream

    def manual_seed(self, seed: SupportsIndex) -> Generator:
        """Starts the stream of `seed`, from -2**63 to 2**64 - 1 (negative ones count from 2**64); returns itself."""
        number = operator.index(seed)
        if not -(2**63) <= number < 2**64:
            raise RandomError(f"manual_seed: {number} does not fit, expected a seed from -2**63 to 2**64 - 1")
        self._start(number % 2**64)
        return self

    def seed(self) -> int:
        """Starts an unpredictable stream and returns its seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        self._start(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed this stream started from."""
        return self._seed

    def get_state(self) -> Array:
        """The state as an array of bytes, from which `set_state` continues."""
        with self._lock:
            now: Any = self._rng.bit_generator.state
            record = np.zeros((), _STATE)
            record["state"] = _halves(now["state"]["state"])
            record["inc"] = _halves(now["state"]["inc"])
            record["has_uint32"], record["uinteger"] = now["has_uint32"], now["uinteger"]
            record["seed"] = self._seed
        return np.frombuffer(record.tobytes(), np.uint8).copy()

    def set_state(self, new_state: ArrayLike) -> None:
        """Continues from a state that `get_state` gave, of this or another generator."""
        given = np.asarray(new_state)
        if given.dtype != np.uint8 or given.shape != (_STATE.itemsize,):
            raise RandomError(
                f"set_state: expected a state of {_STATE.itemsize} bytes (uint8) as get_state gives it,"
                f" got {given.dtype} of shape {given.shape}"
            )
        record = np.frombuffer(given.tobytes(), _STATE)[0]
        with self._lock:
            self._start(int(record["seed"]))
            self._rng.bit_generator.state = {
                "bit_generator": "PCG64",
                "state": {"state": _whole(record["state"]), "inc": _whole(record["inc"])},
                "has_uint32": int(record["has_uint32"]),
                "uinteger": int(record["uinteger"]),
            }

    def mark(self) -> Any:
        """Where the stream is, for `rewind` in this thread: quicker than a state."""
        with self._lock:
            self._take_turn()
            return self._seed, None if self._stream is None else self._stream.bit_generator.state, self._turn

    def rewind(self, mark: Any) -> None:
        """Continues from where `mark` was called, unless another thread has drawn since: no number is given twice."""
        seed, state, turn = mark
        with self._lock:
            if self._turn != turn:
                return
            if state is None:
                self._start(seed)
            else:
                self._seed, self._rng.bit_generator.state = seed, state

    def _take_turn(self) -> None:
        thread = threading.get_ident()
        if thread != self._drawer:
            self._drawer = thread
            self._turn += 1

    @contextmanager
    def _drawing(self) -> Iterator[np.random.Generator]:
        """NumPy's generator, for the one thread that is drawing."""
        with self._lock:
            self._take_turn()
            yield self._rng

    def __getstate__(self) -> Array:
        return self.get_state()

    def __setstate__(self, state: Array) -> None:
        Generator.__init__(self)
        self.set_state(state)


def _halves(number: int) -> tuple[int, int]:
    return number % 2**64, number >> 64


def _whole(halves: Array) -> int:
    return int(halves[0]) + (int(halves[1]) << 64)


#: The generator that is drawn from when none is given; its first stream is unpredictable.
default_generator: Final = Generator()
default_generator.seed()


@contextmanager
def kept() -> Iterator[None]:
    """The default generator's stream goes on from where it was, after what is done in the block."""
    mark = default_generator.mark()
    try:
        yield
    finally:
        default_generator.rewind(mark)


def manual_seed(seed: SupportsIndex) -> Generator:
    """Starts the stream of `seed` in the default generator and returns that generator."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Starts an unpredictable stream in the default generator and returns its seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed the default generator's stream started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Array:
    """The default generator's state as an array of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: ArrayLike) -> None:
    """Continues from a state that `get_rng_state` gave."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: object = None, enabled: bool = True) -> Iterator[None]:
    """Restores the default generator's state on leaving; `devices` is accepted as PyTorch's programs pass it."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


class Watch(threading.local):
    """What is told of draws in this thread while a call is being recorded: `drawing(args, kwargs)` before the draw,
    and `drawn(array, draw, args, kwargs)` after it.
    """

    recorder: Any = None


watch: Final = Watch()


def drawing(draw: F) -> F:
    """Marks a function that gives an array of random numbers, from arguments that are no arrays."""

    @functools.wraps(draw)
    def call(*args: Any, **kwargs: Any) -> Any:
        recorder = watch.recorder
        if recorder is None:
            return draw(*args, **kwargs)
        recorder.drawing(args, kwargs)
        if watch.recorder is None:  # it has stopped watching
            return draw(*args, **kwargs)
        watch.recorder = None
        try:
            array = draw(*args, **kwargs)
        finally:
            watch.recorder = recorder
        recorder.drawn(array, draw, args, kwargs)
        return array

    return call  # type: ignore[return-value]


@drawing
def _rand(shape: Shape, dtype: DTypeLike = np.float32, generator: Generator | None = None) -> Array:
    """Uniform on [0, 1), drawn in `dtype`; complex: both parts are."""
    size, kind = _checked(shape, "rand"), _inexact(dtype, "rand")
    if kind.kind == "c":
        return _paired(_rand((*size, 2), _part(kind), generator), kind)
    with (generator or default_generator)._drawing() as rng:
        if kind == np.float16:  # float32 draws near 1 would round up to it
            return np.asarray(rng.integers(2**11, size=size) * 2.0**-11).astype(kind)
        if kind == np.float32:
            return np.asarray(rng.random(size, np.float32))
        return np.asarray(rng.random(size)).astype(kind, copy=False)


@drawing
def _randn(shape: Shape, dtype: DTypeLike = np.float32, generator: Generator | None = None) -> Array:
    """Standard normal, drawn in `dtype` (float16 in float32); complex: variance 1, half of it in each part."""
    size, kind = _checked(shape, "randn"), _inexact(dtype, "randn")
    if kind.kind == "c":
        return _paired(_randn((*size, 2), _part(kind), generator) * _part(kind).type(0.5**0.5), kind)
    with (generator or default_generator)._drawing() as rng:
        if kind.itemsize <= 4:
            return np.asarray(rng.standard_normal(size, np.float32)).astype(kind, copy=False)
        return np.asarray(rng.standard_normal(size)).astype(kind, copy=False)


@drawing
def _randint(
    low: int, high: int, shape: Shape, dtype: DTypeLike = np.int64, generator: Generator | None = None
) -> Array:
    """Integers from `low` to `high - 1`, each equally likely; also of a floating-point `dtype`."""
    size, kind = _checked(shape, "randint"), np.dtype(dtype)
    if low >= high:
        raise RandomError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    drawn = np.dtype(np.int64) if kind.kind == "f" else kind
    if drawn.kind not in "iub":
        raise DTypeError(f"randint: cannot draw {kind}, expected an integer, bool or floating-point dtype")
    least, most = (0, 1) if drawn.kind == "b" else (np.iinfo(drawn).min, np.iinfo(drawn).max)
    if low < least or high - 1 > most:
        raise RandomError(f"randint: {low} to {high - 1} is out of bounds for {drawn}, which holds {least} to {most}")
    with (generator or default_generator)._drawing() as rng:
        values = np.asarray(rng.integers(low, high, size, drawn.type))
    return values.astype(kind, copy=False)


@drawing
def _randperm(n: int, dtype: DTypeLike = np.int64, generator: Generator | None = None) -> Array:
    """The integers below `n` in random order."""
    (length,), kind = _checked((n,), "randperm"), np.dtype(dtype)
    if kind.kind in "iu" and length - 1 > np.iinfo(kind).max:
        raise RandomError(f"randperm: {length - 1} is out of bounds for {kind}")
    with (generator or default_generator)._drawing() as rng:
        return np.asarray(rng.permutation(length)).astype(kind, copy=False)


@drawing
def _normal(
    mean: ArrayLike,
    std: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = np.float32,
    generator: Generator | None = None,
) -> Array:
    """Normal with that mean and standard deviation, of `shape` or of the shape the two broadcast to."""
    if not np.all(np.asarray(std) >= 0):
        raise RandomError(f"normal expects std >= 0.0, but found std {np.min(std):g}")
    values = _randn(_broadcast("normal", shape, mean, std), dtype, generator)
    values *= std
    values += mean
    return values


@drawing
def _uniform(
    low: float, high: float, shape: Shape, dtype: DTypeLike = np.float32, generator: Generator | None = None
) -> Array:
    """Uniform on [low, high); all equal to `low` if the two are equal."""
    kind = _inexact(dtype, "uniform")
    if kind.kind != "f":
        raise DTypeError(f"uniform: cannot draw {kind}, expected a floating-point dtype")
    if not low <= high:
        raise RandomError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    if not high - low <= float(np.finfo(kind).max):
        raise RandomError(f"uniform: the range from {low} to {high} is wider than {kind} can hold")
    values = _rand(shape, kind, generator)
    values *= high - low
    values += low
    below = np.nextafter(kind.type(high), kind.type(low))  # rounding may have reached `high`
    np.minimum(values, below, out=values)
    return values


@drawing
def _bernoulli(
    p: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = np.float32, generator: Generator | None = None
) -> Array:
    """1 with probability `p`, else 0; of `shape` or of the shape of `p`. Drawn in float64, so small `p` are exact."""
    chance = np.asarray(p)
    if not np.all((chance >= 0) & (chance <= 1)):
        raise RandomError("bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got false")
    values = _rand(_broadcast("bernoulli", shape, p), np.float64, generator)
    return np.asarray(values < chance).astype(dtype)


def _checked(shape: Shape, name: str) -> tuple[int, ...]:
    size = tuple(operator.index(length) for length in shape)
    if any(length < 0 for length in size):
        raise ShapeError(f"{name}: Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    return size


def _inexact(dtype: DTypeLike, name: str) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind.kind not in "fc":
        raise DTypeError(f"{name}: cannot draw {kind}, expected a floating-point or complex dtype")
    return kind


def _part(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the real and imaginary parts."""
    return np.zeros((), kind).real.dtype


def _paired(parts: Array, kind: np.dtype[Any]) -> Array:
    return parts.view(kind)[..., 0]


def _broadcast(name: str, shape: Shape | None, *operands: ArrayLike) -> tuple[int, ...]:
    """`shape`, to which the operands must broadcast, or else the shape they broadcast to together."""
    shapes = [np.shape(operand) for operand in operands]
    wanted = () if shape is None else _checked(shape, name)
    try:
        common = np.broadcast_shapes(wanted, *shapes)
    except ValueError:
        common = None
    if common is None or (shape is not None and common != wanted):
        into = "" if shape is None else f" to {wanted}"
        raise ShapeError(f"{name}: cannot broadcast {' and '.join(map(str, shapes))}{into}")
    return common
