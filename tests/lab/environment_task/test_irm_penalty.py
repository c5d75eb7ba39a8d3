"""``IrmPenalty``: a mean of gradients of risk plus weighted penalty."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc import Mean, backward
from ilc.errors import UserError
from ilc.gradients import BackwardResult
from ilc.objectives import RISKS
from lab.data import Environments, Split
from lab.environment_task.methods import IrmPenalty

E, N, D = 3, 10, 4


def batch() -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    inputs = torch.randn(E, N, D, generator=random, dtype=torch.float64)
    return inputs, torch.randint(0, 3, (E, N), generator=random)


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(D, 6), nn.Tanh(), nn.Linear(6, 3)).double()


def gradients(model: nn.Module) -> list[Tensor]:
    return [p.grad for p in model.parameters() if p.grad is not None]


def step(model: nn.Module, inputs: Tensor, targets: Tensor, method: IrmPenalty, way: str) -> BackwardResult:
    return backward(model, method.objective(F.cross_entropy), inputs, targets, method.aggregator, way)


def slope_squared(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """The oracle, with ``autograd`` and a parameter w as in the IRM paper's appendix."""
    w = torch.ones((), dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(F.cross_entropy(w * model(x), y), w, create_graph=True)
    return slope**2


@pytest.mark.parametrize("rescale_loss", [True, False])
@pytest.mark.parametrize("weight", [0.0, 0.5, 300.0])
@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_gradients_match_a_plain_loop(way: str, weight: float, rescale_loss: bool) -> None:
    inputs, targets = batch()
    oracle = network()
    risks = [F.cross_entropy(oracle(x), y) for x, y in zip(inputs, targets, strict=True)]
    penalties = [slope_squared(oracle, x, y) for x, y in zip(inputs, targets, strict=True)]
    loss = torch.stack(risks).mean() + weight * torch.stack(penalties).mean()
    (loss / max(weight, 1.0) if rescale_loss else loss).backward()
    model = network()
    result = step(model, inputs, targets, IrmPenalty(weight, rescale_loss=rescale_loss), way)
    for found, expected in zip(gradients(model), gradients(oracle), strict=True):
        torch.testing.assert_close(found, expected)
    # Both are reported as they are, whatever weight joined them.
    torch.testing.assert_close(result.risks, torch.stack(risks).detach())
    torch.testing.assert_close(result.penalties, torch.stack(penalties).detach())


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_weight_zero_is_the_mean(way: str) -> None:
    inputs, targets = batch()
    plain, penalised = network(), network()
    result = backward(plain, F.cross_entropy, inputs, targets, Mean(), way)
    step(penalised, inputs, targets, IrmPenalty(0.0), way)
    for found, expected in zip(gradients(penalised), gradients(plain), strict=True):
        torch.testing.assert_close(found, expected)
    assert not result.penalties.any()


@pytest.mark.parametrize("way", ["vectorized", "sequential"])
def test_two_halves_are_drawn_anew_for_every_environment_and_step(way: str) -> None:
    inputs, targets = batch()
    same = inputs[:1].expand(E, -1, -1), targets[:1].expand(E, -1)
    method = IrmPenalty(1.0, estimator="two_halves")
    model = network()
    one, other = (step(model, *same, method, way).penalties for _ in range(2))
    assert len(set(torch.cat([one, other]).tolist())) > E


def test_the_weight_follows_the_step() -> None:
    method = IrmPenalty(100.0, "step", schedule_steps=2, initial_weight=1.0, reset_optimizer=True)
    parameter = torch.zeros(1, requires_grad=True)
    seen = []
    for taken in range(4):
        optimizer = torch.optim.SGD([parameter], 0.1)
        optimizer.state[parameter]["moment"] = 1
        method.before_step(taken, optimizer)
        seen.append((method.penalty_weight, method.loss_scale, not optimizer.state))
    assert seen == [(1.0, 1.0, False), (1.0, 1.0, False), (100.0, 0.01, True), (100.0, 0.01, False)]


def test_a_jump_leaves_the_moments_alone_unless_asked() -> None:
    method = IrmPenalty(100.0, "step", schedule_steps=2, initial_weight=1.0)
    parameter = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], 0.1)
    optimizer.state[parameter]["moment"] = 1
    for taken in range(4):
        method.before_step(taken, optimizer)
    assert optimizer.state[parameter] == {"moment": 1}


def test_a_regression_has_collapsed_at_the_risk_of_outputs_that_are_zero() -> None:
    # Outputs of 0 have a risk of 4, and outputs of 1 a risk of 1.
    inputs, targets = torch.ones(E, N, D), torch.full((E, N, 1), 2.0)
    data = Environments(inputs, targets, {"test": Split(inputs[0], targets[0])})
    method, risk = IrmPenalty(1.0), RISKS["mean_squared_error"]
    assert "collapsed" in str(method.warning({"train/loss": 4.0, "train/penalty": 0.0}, data, risk))
    assert method.warning({"train/loss": 1.0, "train/penalty": 0.0}, data, risk) is None


def test_a_rescaled_loss_cannot_overflow() -> None:
    model = network().float()
    inputs, targets = batch()
    step(model, inputs.float(), targets, IrmPenalty(1e38), "vectorized")
    assert all(bool(gradient.isfinite().all()) for gradient in gradients(model))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": "three"}, "aggregator.estimator must be one of"),
        ({"schedule": "jump"}, r"aggregator.schedule\) must be one of"),
        ({"penalty_weight": -1.0}, "at least 0"),
    ],
)
def test_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        IrmPenalty(**{"penalty_weight": 1.0, **options})  # type: ignore[arg-type]


def test_pooled_environments_are_refused() -> None:
    with pytest.raises(UserError, match="does not tell environments apart"):
        step(network(), *batch(), IrmPenalty(1.0), "pooled")
