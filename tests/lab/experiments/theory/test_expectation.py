import pytest
import torch

from ilc.consistency import invariant_learning_consistency
from ilc.errors import UserError
from lab.experiments.theory import landscape


def descend(start):
    theta = start.clone().requires_grad_()
    for _ in range(400):
        risk = sum(r(theta) for r in landscape.TRAINING) / 2
        (gradient,) = torch.autograd.grad(risk, theta)
        theta = (theta - 0.2 * gradient).detach().requires_grad_()
    return theta.detach()


def test_starts_near_the_shared_minimum_learn_more_consistently_than_those_near_the_patchwork():
    near = {
        minimum: torch.tensor(minimum, dtype=torch.float64) + torch.tensor([[0.05, 0.02], [-0.04, 0.06]])
        for minimum in (landscape.CONSISTENT, landscape.PATCHWORK)
    }
    learned = {
        minimum: invariant_learning_consistency(descend, starts, landscape.TRAINING, 0.01, damping=1e-3)
        for minimum, starts in near.items()
    }
    assert learned[landscape.CONSISTENT].mean == pytest.approx(-0.01, rel=1e-3)
    assert learned[landscape.PATCHWORK].mean < -1
    for result in learned.values():
        assert result.low <= result.mean <= result.high
        assert len(result.scores) == 2


def test_the_interval_is_students():
    scores = iter([1.0, 2.0, 3.0])

    def train(start):
        return start

    losses = [lambda s: 0.5 * s @ s] * 2
    starts = [torch.full((1,), next(scores), dtype=torch.float64) for _ in range(3)]
    result = invariant_learning_consistency(train, starts, losses, 0.1, confidence=0.5)
    mean = sum(result.scores) / 3
    deviation = (sum((s - mean) ** 2 for s in result.scores) / 2) ** 0.5
    assert result.high - result.mean == pytest.approx(0.8165 * deviation / 3**0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("n", "confidence", "message"), [(1, 0.95, "at least two entries"), (2, 1.0, "between 0 and 1")]
)
def test_what_cannot_be_estimated_is_refused(n, confidence, message):
    starts = [torch.zeros(2, dtype=torch.float64)] * n
    with pytest.raises(UserError, match=message):
        invariant_learning_consistency(descend, starts, landscape.TRAINING, 0.1, confidence=confidence)
