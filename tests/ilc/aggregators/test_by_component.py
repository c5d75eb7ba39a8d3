"""Aggregators that say they look at one component at a time do, and only those."""

from __future__ import annotations

import copy

import pytest
import torch

from ilc import aggregators
from ilc.aggregators import Aggregator, GradientStatistics, JointAggregator

ALL: list[Aggregator] = [
    aggregators.Mean(),
    aggregators.MeanOfEnvironments(),
    aggregators.AndMask(0.5),
    aggregators.AndMask(0.5, rescale=True),
    aggregators.GeometricMean(0.5),
    aggregators.GeometricMean(0.5, rescale=True),
    aggregators.XorMask(0.5),
    aggregators.SandMask(0.1),
    aggregators.SignElection(),
    aggregators.AgreementSum(),
    aggregators.AgreementRandom(),
    aggregators.GradDrop(),
]


@pytest.mark.parametrize("aggregator", ALL, ids=lambda a: f"{type(a).__name__}-{a.by_component}")
def test_parts_are_combined_like_the_whole(aggregator: Aggregator) -> None:
    """In the update and, weighted by size, in the kept share. The share of an empty part means nothing."""
    gradients = torch.randn(4, 31, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    pieces = [gradients[:, :20], gradients[:, 20:31], gradients[:, 31:]]
    whole, *parts = [
        copy.deepcopy(aggregator).combine(
            GradientStatistics.zeros(one[0], aggregator.sums_on_request).add_(one)
        )
        for one in (gradients, *pieces)
    ]
    share = sum(part.kept_share * len(part.update) for part in parts if len(part.update)) / len(whole.update)
    alike = torch.allclose(torch.cat([part.update for part in parts]), whole.update)
    assert (alike and torch.allclose(torch.as_tensor(share), whole.kept_share)) == aggregator.by_component


def test_no_other_aggregator_is_public() -> None:
    public = [getattr(aggregators, name) for name in aggregators.__all__]
    of_sums = {
        one
        for one in public
        if isinstance(one, type) and issubclass(one, Aggregator) and not issubclass(one, JointAggregator)
    }
    assert of_sums - {Aggregator} == {type(one) for one in ALL}
