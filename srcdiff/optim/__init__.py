"""Optimizers and learning rate schedules, as `torch.optim` has them."""

from __future__ import annotations

from srcdiff.optim import lr_scheduler
from srcdiff.optim.adam import Adam, AdamW
from srcdiff.optim.adaptive import Adagrad, RMSprop
from srcdiff.optim.optimizer import Optimizer
from srcdiff.optim.sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
