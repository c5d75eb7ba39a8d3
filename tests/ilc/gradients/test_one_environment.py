"""A vote of one environment decides nothing, and the user is told so, at the line that asked for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import nn

import ilc
from ilc.aggregators import Aggregator, AndMask, GeometricMean, Mean, VRex

MESSAGE = "received one environment, so it has nothing to compare"


def step(aggregator: Aggregator, e: int) -> None:
    model = nn.Linear(3, 1)
    ilc.backward(model, nn.functional.mse_loss, torch.randn(e, 4, 3), torch.randn(e, 4, 1), aggregator)


def collected(aggregator: Aggregator, e: int) -> None:
    model = nn.Linear(3, 1)
    with ilc.accumulate(aggregator) as votes:
        for _ in range(e):
            votes.backward(model, nn.functional.mse_loss, torch.randn(1, 4, 3), torch.randn(1, 4, 1))


def examples(aggregator: Aggregator, e: int) -> None:
    model = nn.Linear(3, 1)
    data = torch.randn(e, 1, 3), torch.randn(e, 1, 1)
    ilc.backward(model, nn.functional.mse_loss, *data, aggregator, gradients="per_example")


WAYS = [step, collected, examples]


@pytest.mark.parametrize(
    ("aggregator", "way"),
    # V-REx takes neither examples nor several calls.
    [*product([AndMask(0.5), GeometricMean(0.5)], WAYS), (VRex(1.0), step)],
)
def test_one_environment_is_named(aggregator: Aggregator, way: Callable[[Aggregator, int], None]) -> None:
    with pytest.warns(UserWarning, match=MESSAGE) as found:
        way(aggregator, 1)
    assert [warning.filename for warning in found] == [__file__]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("aggregator", "e"), [(AndMask(0.5), 2), (AndMask(0.0), 1), (Mean(), 1)])
def test_a_mean_and_several_environments_are_silent(
    aggregator: Aggregator, e: int, way: Callable[[Aggregator, int], None]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        way(aggregator, e)
