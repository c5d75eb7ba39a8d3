"""Comparing two sets of votes."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from ilc.aggregators import AndMask, GradientStatistics
from ilc.gradients import backward, example_local, example_loss
from lab.experiments.memorisation.vote_similarity import vote_similarity
from lab.models import FastResNet


def statistics(rows: torch.Tensor) -> dict[str, GradientStatistics]:
    return {"w": GradientStatistics.zeros(rows[0]).add_(rows)}


@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
def test_the_same_votes_are_alike(threshold: float) -> None:
    votes = statistics(torch.randn(7, 40, generator=torch.Generator().manual_seed(0)))
    found = vote_similarity(votes, votes, threshold)
    assert found["overlap"] == pytest.approx(1)
    assert found["cosine"] == pytest.approx(1)
    assert found["kept_share_one"] == found["kept_share_other"]


def test_against_a_plain_count() -> None:
    random = torch.Generator().manual_seed(1)
    rows = [torch.randn(9, 50, generator=random) for _ in range(2)]
    found = vote_similarity(statistics(rows[0]), statistics(rows[1]), 0.3)
    kept = [{j for j in range(50) if abs(sum(r[:, j].sign().tolist())) >= 0.3 * 9} for r in rows]
    masked = [AndMask(0.3)(r) for r in rows]
    assert found["kept_share_one"] == pytest.approx(len(kept[0]) / 50)
    assert found["kept_share_other"] == pytest.approx(len(kept[1]) / 50)
    assert found["overlap"] == pytest.approx(len(kept[0] & kept[1]) / len(kept[0] | kept[1]))
    assert found["cosine"] == pytest.approx(
        float(torch.cosine_similarity(masked[0], masked[1], dim=0)), abs=1e-5
    )


def test_opposite_votes() -> None:
    votes = torch.randn(5, 30, generator=torch.Generator().manual_seed(2))
    found = vote_similarity(statistics(votes), statistics(-votes), 0.5)
    assert found["overlap"] == 1
    assert found["cosine"] == pytest.approx(-1)


def test_nothing_kept_by_either() -> None:
    votes = statistics(torch.tensor([[1.0], [-1.0]]))
    assert vote_similarity(votes, votes, 1.0) == {
        "kept_share_one": 0.0,
        "kept_share_other": 0.0,
        "overlap": 1.0,
        "cosine": 1.0,
    }


@pytest.mark.slow
def test_near_the_exact_vote_while_a_network_memorises() -> None:
    """Kept share within 10 %, overlap at least one half, at the paper's threshold and image size."""
    torch.manual_seed(0)
    images = F.interpolate(torch.randn(640, 3, 4, 4), scale_factor=8, mode="bilinear")
    labels = torch.randint(0, 10, (640,))
    model = FastResNet(3, 10, width=8)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    for step in range(21):
        few = torch.randperm(640)[:80]
        inputs, targets = images[few].unsqueeze(1), labels[few].unsqueeze(1)
        if step in (10, 20):
            exact, local = (
                weights(way(model, F.cross_entropy, inputs, targets).statistics)
                for way in (example_loss, example_local)
            )
            found = vote_similarity(exact, local, 0.2)
            assert found["overlap"] >= 0.5
            assert found["kept_share_other"] == pytest.approx(found["kept_share_one"], rel=0.1)
        backward(model, F.cross_entropy, inputs, targets, AndMask(0.2, rescale=True), "per_example")
        optimizer.step()


def weights(statistics: dict[str, GradientStatistics]) -> dict[str, GradientStatistics]:
    """Without biases, which have no gradient but rounding in front of BatchNorm."""
    return {name: s for name, s in statistics.items() if s.total.ndim > 1}
