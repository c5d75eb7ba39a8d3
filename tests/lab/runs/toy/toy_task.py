"""A task unlike the project's own: an inner loop, two models, two optimizers, no aggregator, no data set."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from lab.runs.one_run.run_options import RunOptions


class ToyTask:
    """A student learns a line from noisy lessons; a teacher learns how large the lessons should be."""

    def __init__(
        self, run: RunOptions, device: torch.device, method: str, inner_steps: int, lr: float
    ) -> None:
        self.data = SimpleNamespace(source="noise", fingerprint=lambda: "0" * 64)
        self.step, self.inner_steps = 0, inner_steps
        self.model, self.teacher = nn.Linear(3, 1).to(device), nn.Linear(1, 1).to(device)
        self.optimizers = [torch.optim.Adam(m.parameters(), lr) for m in (self.model, self.teacher)]

    def train_epoch(self) -> dict[str, Any]:
        for _ in range(self.inner_steps):
            size = self.teacher(torch.ones(1))
            x = torch.randn(16, 3) * size
            loss = (self.model(x) - x.sum(1, keepdim=True)).square().mean() + (size - 1).square().sum()
            for optimizer in self.optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in self.optimizers:
                optimizer.step()
            self.step += 1
        return {"lesson/size": float(size)}

    def evaluate(self) -> dict[str, Any]:
        error = float((self.model.weight - 1).square().mean())
        return {"train/loss": error, "test/loss": error}

    def remarks(self, evaluations: Sequence[dict[str, Any]], selected: dict[str, Any]) -> dict[str, Any]:
        return {"lessons": self.step}

    def state_dict(self) -> dict[str, Any]:
        models = {"model": self.model.state_dict(), "teacher": self.teacher.state_dict()}
        return {**models, "optimizers": [o.state_dict() for o in self.optimizers], "step": self.step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.teacher.load_state_dict(state["teacher"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.step = state["step"]
