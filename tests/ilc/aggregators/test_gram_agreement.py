"""The mask in principal directions against a singular value decomposition, and what rotations do to it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ilc.aggregators import AndMask, GramAgreement
from ilc.gradients import backward


def rows_of(seed: int, n: int = 4, width: int = 7) -> Tensor:
    torch.manual_seed(seed)
    return torch.randn(n, width, dtype=torch.float64) + torch.randn(width, dtype=torch.float64)


def update(rows: Tensor, threshold: float) -> Tensor:
    return GramAgreement(threshold).weights(torch.zeros(len(rows)), rows @ rows.T) @ rows


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_it_is_the_and_mask_in_the_singular_basis(seed: int, threshold: float) -> None:
    rows = rows_of(seed)
    _, _, directions = torch.linalg.svd(rows, full_matrices=False)
    expected = AndMask(threshold)(rows @ directions.T) @ directions
    torch.testing.assert_close(update(rows, threshold), expected)


def test_a_rotation_of_the_parameters_rotates_the_update() -> None:
    rows = rows_of(0)
    rotation = torch.linalg.qr(torch.randn(7, 7, dtype=torch.float64)).Q
    torch.testing.assert_close(update(rows @ rotation, 1.0), update(rows, 1.0) @ rotation)
    masked = AndMask(1.0)
    assert not torch.allclose(masked(rows @ rotation), masked(rows) @ rotation, rtol=1e-2)


def test_threshold_0_is_the_mean_and_equal_gradients_give_themselves() -> None:
    rows = rows_of(1)
    torch.testing.assert_close(update(rows, 0.0), rows.mean(0))
    same = rows[:1].expand(5, -1)
    torch.testing.assert_close(update(same, 1.0), rows[0])


def test_many_at_once() -> None:
    rows = torch.stack([rows_of(seed) for seed in range(3)])
    found = GramAgreement(1.0).weights(torch.zeros(3, 4), rows @ rows.mT)
    for one, weights in zip(rows, found, strict=True):
        torch.testing.assert_close(weights @ one, update(one, 1.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_environment_without_a_part_in_a_direction_has_no_vote_there(dtype: torch.dtype) -> None:
    """Two environments agree on their directions, and the third one is at a right angle to them."""
    rows = torch.zeros(3, 6, dtype=torch.float64)
    rows[:2, :3], rows[2, 3:] = rows_of(2, 2, 3), rows_of(3, 1, 3)
    for seed in range(6):
        torch.manual_seed(seed)
        turned = (rows @ torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64)).Q).to(dtype)
        assert not update(turned, 1.0).any()
        # Two votes of three.
        expected = update(rows, 0.6).norm()
        assert expected > 0
        torch.testing.assert_close(update(turned, 0.6).double().norm(), expected, rtol=1e-4, atol=0)


def step_of(rows: Tensor, threshold: float) -> tuple[Tensor, float]:
    """The update and the kept share of a step whose environments have these gradients."""
    model = nn.Linear(rows.shape[1], 1, bias=False).to(rows.dtype)
    ones = rows.new_ones(len(rows), 1, 1)
    result = backward(model, lambda y, t: (y * t).mean(), rows[:, None], ones, GramAgreement(threshold))
    assert model.weight.grad is not None
    return model.weight.grad[0], float(result.overall_kept_share)


@pytest.mark.parametrize("seed", range(5))
def test_in_single_precision_a_direction_without_a_gradient_is_not_counted(seed: int) -> None:
    """All gradients lie on one line, where four of five agree. Other directions are rounding."""
    torch.manual_seed(seed)
    rows = torch.tensor([1.0, 2.0, 3.0, -1.5, 0.7])[:, None] * torch.randn(10)
    for threshold, share in ((0.6, 1.0), (0.8, 0.0)):
        update, kept = step_of(rows, threshold)
        assert kept == share
        torch.testing.assert_close(update, share * rows.mean(0))
