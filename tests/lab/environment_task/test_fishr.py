"""Fishr against one backward pass per example, and what it remembers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.errors import UserError
from ilc.gradients import backward
from lab.environment_task.methods.fishr import Fishr

E, N, D, H, C = 3, 7, 4, 5, 3


def model_of() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(D, H), nn.Tanh(), nn.Linear(H, C)).double()


def batch(step: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(E, N, D, generator=generator, dtype=torch.float64)
    return inputs * torch.tensor([0.5, 1.0, 2.0])[:, None, None], torch.randint(
        C, (E, N), generator=generator
    )


def slow(model: nn.Module, step: int, averages: list[Tensor], weight: float, memory: float) -> Tensor:
    """The loss, from the gradients of single examples; ``averages`` are moved on."""
    last = list(model.parameters())[-2:]
    compared, risks = [], []
    for e, (x, y) in enumerate(zip(*batch(step), strict=True)):
        rows = []
        for i in range(N):
            found = torch.autograd.grad(
                F.cross_entropy(model(x[i : i + 1]), y[i : i + 1]), last, create_graph=True
            )
            rows.append(torch.cat([gradient.flatten() for gradient in found]))
        variance = torch.stack(rows).var(0, correction=0)
        moved = memory * averages[e] + (1 - memory) * variance
        averages[e] = moved.detach()
        compared.append(moved / (1 - memory))
        risks.append(F.cross_entropy(model(x), y))
    mean = torch.stack(compared).mean(0)
    distances = torch.stack([(one - mean).square().mean() for one in compared])
    return torch.stack(risks).mean() + weight * distances.mean()


def test_steps_are_those_of_the_definition_and_continue() -> None:
    model, plain = model_of(), model_of()
    fishr = Fishr(50.0, 0.6)
    fishr.check_model(model, None)  # type: ignore[arg-type]
    averages = [torch.zeros(C * H + C, dtype=torch.float64) for _ in range(E)]
    for step in range(3):
        if step == 2:
            state, fishr = fishr.state_dict(), Fishr(50.0, 0.6)
            fishr.load_state_dict(state)
            fishr.check_model(model, None)  # type: ignore[arg-type]
        result = backward(
            model, fishr.objective(F.cross_entropy), *batch(step), fishr.aggregator, gradients="sequential"
        )
        plain.zero_grad()
        slow(plain, step, averages, 50.0, 0.6).backward()
        for p, expected in zip(model.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(p.grad, expected.grad, rtol=1e-6, atol=1e-9)
        assert float(result.penalties.min()) > 0
        model.zero_grad()


def test_the_weight_changes_the_update() -> None:
    updates = []
    for weight in (0.0, 50.0):
        model, fishr = model_of(), Fishr(weight)
        fishr.check_model(model, None)  # type: ignore[arg-type]
        backward(model, fishr.objective(F.cross_entropy), *batch(0), fishr.aggregator, gradients="sequential")
        updates.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
    assert not torch.allclose(updates[0], updates[1], rtol=0.01)


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UserError, match="memory in"):
        Fishr(1.0, 1.0)
    with pytest.raises(UserError, match="ends in a linear layer"):
        Fishr().check_model(nn.Conv1d(1, 1, 1), None)  # type: ignore[arg-type]
