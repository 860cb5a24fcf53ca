"""Learning rate schedules: objects whose `step()`, called once an epoch (or batch), sets the groups' learning rates.

Most schedules say the rate at an epoch by its relation to the one before, as PyTorch's do, so that schedules can be
chained on one optimizer.
"""

from __future__ import annotations

from srcdiff.optim.lr_scheduler.base import LRScheduler
from srcdiff.optim.lr_scheduler.compositions import ChainedScheduler, SequentialLR
from srcdiff.optim.lr_scheduler.curves import CosineAnnealingLR, CosineAnnealingWarmRestarts, LinearLR, PolynomialLR
from srcdiff.optim.lr_scheduler.plateau import ReduceLROnPlateau
from srcdiff.optim.lr_scheduler.steps import ConstantLR, ExponentialLR, LambdaLR, MultiplicativeLR, MultiStepLR, StepLR

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
