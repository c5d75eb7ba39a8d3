"""Correlations of figure 7: against a plain loop, and limits in which the answer is known."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, Mean, XorMask
from ilc.errors import UserError
from lab.data import Environments
from lab.experiments.spirals.gradient_correlations import (
    SignalGradients,
    compare,
    masked_average,
    network_and_spirals,
    signal_gradients,
)
from lab.experiments.spirals.measurements import correlations
from lab.experiments.spirals.signals import mechanism_only, shortcut_only
from lab.machine.seeding import generator_for

Small = tuple[nn.Module, Environments, SignalGradients]


@pytest.fixture(scope="module")
def small() -> Small:
    network, spirals = network_and_spirals(seed=2, n_environments=6, batch_size=32, hidden_units=16)
    return network, spirals, signal_gradients(network, spirals, seed=2)


def _gradients(network: nn.Module, data: Environments) -> Tensor:
    """``[E, P]`` by one backward pass per environment."""
    rows = []
    for x, y in zip(data.inputs, data.targets, strict=True):
        loss = F.cross_entropy(network(x), y)
        rows.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(network.parameters()))]))
    return torch.stack(rows)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.6])
def test_a_plain_loop_finds_the_same(small: Small, threshold: float) -> None:
    network, spirals, gradients = small
    own = _gradients(network, spirals)
    kept = own.sign().sum(0).abs() >= threshold * 6 - 1e-9
    average = own.mean(0)[kept].double().numpy()
    signals = {
        "mechanism": mechanism_only(spirals, generator_for(2, "shuffled shortcuts")),
        "shortcut": shortcut_only(spirals, generator_for(2, "shuffled mechanism")),
    }
    for name, data in signals.items():
        signal = _gradients(network, data).mean(0)[kept].double().numpy()
        found = compare(masked_average(gradients, AndMask(threshold)), getattr(gradients, name))
        assert found.kept_components == int(kept.sum())
        assert found.correlation == pytest.approx(np.corrcoef(average, signal)[0, 1], abs=1e-4)
        slope, intercept = np.polyfit(average, signal, 1)
        assert (found.slope, found.intercept) == pytest.approx((slope, intercept), abs=1e-4)


def test_threshold_0_is_the_mean_and_the_masks_divide_the_components(small: Small) -> None:
    gradients = small[2]
    mean = masked_average(gradients, Mean())
    assert torch.equal(masked_average(gradients, AndMask(0.0)), mean)
    kept = masked_average(gradients, AndMask(0.5)) != 0
    dropped = masked_average(gradients, XorMask(0.5)) != 0
    assert torch.equal(kept ^ dropped, mean != 0)
    assert kept.any()
    assert dropped.any()


@pytest.mark.parametrize("name", ["mechanism", "shortcut"])
@pytest.mark.parametrize("threshold", [0.0, 0.6])
def test_a_dataset_of_one_signal_is_all_that_signal(small: Small, name: str, threshold: float) -> None:
    """Without the other dimensions, shuffling them changes nothing: correlation 1, line y = x."""
    network, spirals, _ = small
    inputs = spirals.inputs.clone()
    inputs[..., slice(2, None) if name == "mechanism" else slice(2)] = 0
    gradients = signal_gradients(network, replace(spirals, inputs=inputs), seed=0)
    average = masked_average(gradients, AndMask(threshold))
    same = compare(average, getattr(gradients, name))
    assert same[1:] == pytest.approx((1, 1, 0), abs=1e-6)
    other = gradients.shortcut if name == "mechanism" else gradients.mechanism
    assert compare(average, other).correlation < 0.999


def test_zeros_of_the_average_are_left_out() -> None:
    average = torch.tensor([1.0, 0.0, 2.0, 0.0, 3.0])
    signal = torch.tensor([3.0, 9.0, 5.0, -9.0, 7.0])
    assert compare(average, signal) == pytest.approx((3, 1, 2, 1))


def test_nothing_kept_is_not_a_number() -> None:
    found = compare(torch.zeros(3), torch.ones(3))
    assert found.kept_components == 0
    assert math.isnan(found.correlation)


def test_the_measurement_repeats_the_committed_rows(root: Path) -> None:
    """Seed 0 at full size, seconds. Rounding may move single votes, hence the tolerance."""
    (part,) = correlations.parts(seeds=1).values()
    tables = pickle.loads(pickle.dumps(part))()
    key = ["parameters", "seed", "mask", "agreement_threshold"]
    columns = ["mechanism_correlation", "shortcut_correlation", "mechanism_slope", "shortcut_slope"]
    committed = pd.read_csv(root / "results" / "spirals" / "correlations.csv").set_index(key)
    repeated = tables["spirals/correlations.csv"].set_index(key)
    expected = committed.loc[repeated.index]
    assert len(repeated) == len(committed) / 10
    assert (repeated.kept_share - expected.kept_share).abs().max() < 1e-3
    many = expected.kept_components > 500
    assert many.sum() >= 12
    assert (repeated[columns] - expected[columns])[many].abs().to_numpy().max() < 0.01


def test_no_seed_is_a_readable_error() -> None:
    with pytest.raises(UserError, match="at least 1, got 0"):
        correlations.parts(seeds=0)
