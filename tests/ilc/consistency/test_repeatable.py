"""A risk that draws random numbers has no score, whoever draws them."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.consistency import (
    consistency_score,
    environment_losses,
    hessian_vector,
    quadratic,
    score_solution,
    search,
)
from ilc.errors import UserError


class Dropping(nn.Module):
    """Draws in the function, so that no module says so."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layer(F.dropout(x, 0.5, training=self.training))
        return outputs


class Attending(nn.Module):
    """Attention draws too, and is no module for dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.last = nn.MultiheadAttention(4, 2, dropout=0.5), nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.last(self.attention(x, x, x)[0])
        return outputs


class Leaving(nn.Module):
    """Leaves a layer out so rarely that two passes are equal."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        drawn = random.random()  # also in evaluation, as some published models do
        outputs: Tensor = self.layer(x)
        return outputs * 0 if self.training and drawn < 1e-9 else outputs


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(2, 30, 4, generator=generator, dtype=torch.float64)
    return inputs, inputs[..., :1] + 0.3 * torch.randn(2, 30, 1, generator=generator, dtype=torch.float64)


@pytest.mark.filterwarnings("ignore:the consistency score")
@pytest.mark.parametrize("make", [Dropping, Attending, Leaving])
def test_a_model_that_draws_is_refused_until_it_is_in_evaluation_mode(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    model = make().double()
    before = torch.get_rng_state(), random.getstate()
    with pytest.raises(UserError, match=r"draws random numbers.*model\.eval\(\)") as refusal:
        score_solution(model, F.mse_loss, *batch(), damping=1.0)
    assert "\n" not in str(refusal.value)
    assert torch.equal(torch.get_rng_state(), before[0]) and random.getstate() == before[1]
    assert score_solution(model.eval(), F.mse_loss, *batch(), damping=1.0, groups=0).score < 0


@pytest.mark.parametrize("form", [quadratic, hessian_vector, search, consistency_score])
def test_functions_that_draw_are_refused(form: Callable[..., object]) -> None:
    losses, theta = environment_losses(Dropping().double(), F.mse_loss, *batch())
    with pytest.raises(UserError, match=r"environment 0 is .* and then .*model\.eval\(\)") as refusal:
        form(losses, theta, 0.01)
    assert "\n" not in str(refusal.value)


def test_a_loss_that_draws_is_refused_in_any_mode() -> None:
    def noisy(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs + 1e-3 * torch.randn_like(outputs), targets)

    with pytest.raises(UserError, match=r"environment 0 is .* and then"):
        score_solution(Dropping().double().eval(), noisy, *batch())


def test_a_generator_of_ones_own_is_noticed_by_the_value() -> None:
    own = torch.Generator().manual_seed(0)

    def noisy(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs, targets) * torch.rand((), generator=own)

    with pytest.raises(UserError, match="and then"):
        score_solution(nn.Linear(4, 1).double(), noisy, *batch())
