"""The device: there is one, the CPU. Programs written for PyTorch name it, and ask for others."""

from __future__ import annotations

from typing import Any

from srcdiff.errors import AutogradError, UnsupportedError


class Device:
    """`sd.device("cpu")`. Other types can be named, as programs do; putting a tensor there is an error."""

    __slots__ = ("index", "type")

    def __init__(self, type: Any, index: int | None = None) -> None:
        name, _, number = str(type).partition(":")
        if name not in ("cpu", "cuda", "mps", "xpu", "meta"):
            raise AutogradError(
                f"Expected one of cpu, cuda, mps, xpu, meta device type at start of device string: {name}"
            )
        self.type = name
        self.index = int(number) if number else index

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == other
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (Device, (self.type, self.index))


CPU = Device("cpu")


def check_device(device: Any) -> None:
    """UnsupportedError for any device but the CPU; None means the CPU."""
    if device is None or device is CPU or device == "cpu":
        return
    if (device if isinstance(device, Device) else Device(device)).type != "cpu":
        raise UnsupportedError(f"the device {device} does not exist here: arrays live in main memory, use 'cpu'")


class Option:
    """A named constant such as `sd.strided`."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


strided = Option("strided")
preserve_format = Option("preserve_format")
contiguous_format = Option("contiguous_format")


def check_layout(name: str, layout: Any = None, memory_format: Any = None, pin_memory: Any = False) -> None:
    """UnsupportedError for what is not an ordinary array in memory."""
    if layout is not None and layout is not strided:
        raise UnsupportedError(f"{name}: layout={layout!r} is not supported, only strided")
    if memory_format is not None and memory_format not in (preserve_format, contiguous_format):
        raise UnsupportedError(f"{name}: memory_format={memory_format!r} is not supported")
    if pin_memory:
        raise UnsupportedError(f"{name}: pin_memory=True is not supported")
