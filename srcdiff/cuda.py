"""`sd.cuda`: what programs ask before they choose a device. There is none."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: there is no device to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there are no devices to seed."""


def empty_cache() -> None:
    """Nothing: there is no cache."""


def synchronize(device: object = None) -> None:
    """Nothing: operations are complete when they return."""
