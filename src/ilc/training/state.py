"""Everything that changes while a run trains: what a checkpoint must hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn, optim

from ilc.data import Batches
from ilc.optim import Regularizer
from ilc.training.random_state import random_state, set_random_state


@dataclass
class TrainingState:
    """Model, optimizer, regularizer, schedule, sampler and counters of one run."""

    model: nn.Module
    optimizer: optim.Optimizer
    regularizer: Regularizer
    scheduler: optim.lr_scheduler.LRScheduler
    sampler: Batches
    epoch: int = 0
    step: int = 0
    n_evaluations: int = 0
    wall_seconds: float = 0.0

    def state_dict(self) -> dict[str, Any]:
        """Plain values and tensors only, so that loading runs no code."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": _plain(self.scheduler.state_dict()),
            "aggregator": {},  # Aggregators are functions of one step's gradients: they keep nothing.
            "sampler": self.sampler.state_dict(),
            "random": random_state(),
            "epoch": self.epoch,
            "step": self.step,
            "n_evaluations": self.n_evaluations,
            "wall_seconds": self.wall_seconds,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint, random numbers included."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.sampler.load_state_dict(state["sampler"])
        set_random_state(state["random"])
        self.epoch, self.step = state["epoch"], state["step"]
        self.n_evaluations, self.wall_seconds = state["n_evaluations"], state["wall_seconds"]


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """MultiStepLR keeps its milestones in a Counter, which only unpickling code could restore."""
    return {key: dict(value) if key == "milestones" else value for key, value in values.items()}
