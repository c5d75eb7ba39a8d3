"""The oracle of this folder: environment gradients by a plain loop of autograd on fresh copies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ilc.aggregators import AndMask
from ilc.gradients import environment_gradients


def plain_loop(
    model: nn.Module, loss_fn: Any, inputs: Tensor, targets: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """Risks ``[E]`` and gradients ``[E, ...]``, each by ``loss.backward()`` on a copy of the model."""
    risks, rows = [], []
    for x, y in zip(inputs, targets, strict=True):
        alone = copy.deepcopy(model)
        risk = loss_fn(alone(x.clone()), y.clone())
        risk.backward()
        risks.append(risk.detach())
        named = [(name, p) for name, p in alone.named_parameters() if p.requires_grad]
        rows.append({name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in named})
    return torch.stack(risks), {name: torch.stack([row[name] for row in rows]) for name in rows[0]}


def assert_same_as_loop(
    model: nn.Module, loss_fn: Any, inputs: Tensor, targets: Tensor, way: str, aggregator: Any = None
) -> None:
    """Risks, sums and sums of signs are those of the plain loop, wherever a sign is clear of rounding."""
    risks, rows = plain_loop(model, loss_fn, inputs, targets)
    found = environment_gradients(model, loss_fn, inputs, targets, aggregator or AndMask(0.5), way)
    torch.testing.assert_close(found.risks.to(risks.dtype), risks, rtol=1e-4, atol=1e-5)
    for name, row in rows.items():
        ours = found.statistics[name]
        torch.testing.assert_close(ours.total.to(row.dtype), row.sum(0), msg=name, rtol=1e-4, atol=1e-5)
        if aggregator is None:
            clear = ((row.abs() > 1e-6) | (row == 0)).all(0)
            assert torch.equal(ours.sign_sum[clear].to(row.dtype), row.sign().sum(0)[clear]), name


@pytest.fixture
def same_as_loop() -> Callable[..., None]:
    """``assert_same_as_loop``."""
    return assert_same_as_loop
