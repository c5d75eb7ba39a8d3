"""The sections of ``experiment=distillation`` other than the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from ilc.errors import UserError
from lab.experiments.distillation.functional_optimizers import SGD, Adam, FunctionalOptimizer

LARGEST = torch.finfo(torch.float32).max


@dataclass(frozen=True)
class OptimizerOptions:
    """An optimizer of the student, of the unrolled steps or of the teacher.

    Attributes:
        kind: ``adam`` or ``sgd``.
        lr: learning rate.
        momentum: momentum of SGD, or beta1 of Adam.
        weight_decay: coupled weight decay (L2).

    Raises:
        UserError: the kind is unknown, or a number is out of range.
    """

    kind: str
    lr: float
    momentum: float = 0.9
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in ("adam", "sgd"):
            raise UserError(f"an optimizer's kind must be adam or sgd, got {self.kind!r}")
        if not (0 < self.lr < LARGEST and 0 <= self.momentum < 1 and 0 <= self.weight_decay < LARGEST):
            raise UserError(
                "an optimizer needs lr above 0, momentum in [0, 1) and weight_decay of at least 0, and all "
                f"three must fit into 32-bit numbers, got {self.lr}, {self.momentum} and {self.weight_decay}"
            )

    def functional(self) -> FunctionalOptimizer:
        """Return an optimizer for a student, through whose steps gradients pass."""
        # A config may hold integers, and torch does not accept integers of more than 64 bits.
        lr, momentum, weight_decay = float(self.lr), float(self.momentum), float(self.weight_decay)
        if self.kind == "adam":
            return Adam(lr, momentum, weight_decay=weight_decay)
        return SGD(lr, momentum, weight_decay)

    def in_place(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """Return an optimizer for a teacher, which changes the parameters in place."""
        if self.kind == "adam":
            betas = (self.momentum, 0.999)
            return torch.optim.Adam(parameters, lr=self.lr, betas=betas, weight_decay=self.weight_decay)
        return torch.optim.SGD(parameters, lr=self.lr, momentum=self.momentum, weight_decay=self.weight_decay)


@dataclass(frozen=True)
class TeachingOptions:
    """Options that say how the teacher teaches and learns.

    Attributes:
        weight: weight of the teaching loss relative to the loss on the label (the thesis's alpha).
        n_inner: number of unrolled steps that the meta-gradient passes through.
        carried: whether unrolling begins with the student's optimizer state; otherwise with a fresh state.
        validation_share: share of the training set on which the teacher learns.
        split: ``fixed`` (thesis), or ``redrawn`` before every meta-step (the authors' code).

    Raises:
        UserError: the split is unknown, or a number is out of range.
    """

    weight: float
    n_inner: int
    carried: bool = True
    validation_share: float = 0.5
    split: str = "fixed"

    def __post_init__(self) -> None:
        if self.split not in ("fixed", "redrawn"):
            raise UserError(f"teaching.split must be fixed or redrawn, got {self.split!r}")
        if self.weight < 0 or self.n_inner < 1 or not 0 < self.validation_share < 1:
            raise UserError(
                "teaching needs weight of at least 0, n_inner of at least 1 and validation_share in (0, 1), "
                f"got {self.weight}, {self.n_inner} and {self.validation_share}"
            )
