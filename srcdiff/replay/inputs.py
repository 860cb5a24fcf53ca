"""The numbers that are inputs of one recording: what stands in for them, among the arguments and outside."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from srcdiff.replay.findings import Findings, RefusedError, UnclearError
from srcdiff.replay.number import Number, UnfitError, as_float, sum_
from srcdiff.replay.places import Place, of_argument, outside, standing_in
from srcdiff.replay.recorder import Recorder


class Inputs:
    """`places` are those of the numbers, `names` the function's names of arguments."""

    def __init__(self, places: Sequence[Place], recorder: Recorder, names: Callable[[Any], str]) -> None:
        self.places = places
        self._recorder = recorder
        self._numbers = {place: Number(0, f"{{{k}}}", recorder) for k, place in enumerate(places)}
        for place, number in self._numbers.items():
            called = place.name or (names(place.key[0]) if place.holder == 0 and len(place.key) == 1 else "number")
            recorder.names[number.text] = recorder.names[as_float(number.text)] = called

    def argument(self, path: tuple[Any, ...], value: Any) -> Number | None:
        """What stands in for a number among the arguments, if it is an input."""
        number = self._numbers.get(of_argument(path))
        if number is not None:
            number.value = value
        return number

    def standing_in(self, findings: Findings) -> AbstractContextManager[None]:
        """Numbers that are read from outside are replaced for a while."""
        found: list[tuple[Any, Any, Any]] = []
        if self._numbers and findings.sums:
            found.append((vars(builtins), "sum", sum_))
        for place, value, holder in outside(findings.reads):
            if place in self._numbers:
                self._numbers[place].value = value
                found.append((holder, place.key, self._numbers[place]))
        return standing_in(found)

    def refusal(self, otherwise: str) -> RefusedError:
        """Why the recording failed."""
        reason = self._recorder.failed or otherwise
        if self._recorder.unclear:
            return UnclearError(reason)
        return UnfitError(reason, self._recorder.unfit) if self.places else RefusedError(reason)
