"""Every batch from one environment, all environments once per epoch."""

from __future__ import annotations

import pytest
import torch

from ilc.errors import UserError
from lab.data import Environments, OneEnvironmentBatches, Split


def make_data(e: int = 5, n: int = 7) -> Environments:
    """Inputs say where they are from: environment in the tens, example in the ones."""
    inputs = (10 * torch.arange(e)[:, None] + torch.arange(n)).float()[..., None]
    return Environments(inputs, inputs.clone(), {"test": Split(inputs[0], inputs[0])})


def batches(data: Environments, size: int | None, seed: int = 0) -> OneEnvironmentBatches:
    return OneEnvironmentBatches(data, size, torch.Generator().manual_seed(seed))


def test_an_epoch_visits_every_environment_once() -> None:
    sampler = batches(make_data(), 3)
    orders = []
    for _ in range(4):
        drawn = list(sampler)
        assert len(drawn) == len(sampler) == 5
        orders.append([])
        for inputs, targets in drawn:
            assert inputs.shape == (1, 3, 1)
            assert torch.equal(inputs, targets)
            (environment,) = {int(x) // 10 for x in inputs.flatten()}
            orders[-1].append(environment)
            assert len({int(x) for x in inputs.flatten()}) == 3  # Without replacement.
        assert sorted(orders[-1]) == [0, 1, 2, 3, 4]
    assert len({tuple(order) for order in orders}) > 1  # In another order each time.


def test_every_example_gets_its_turn() -> None:
    sampler = batches(make_data(), 2)
    seen = {int(x) for _ in range(60) for inputs, _ in sampler for x in inputs.flatten()}
    assert len(seen) == 35


def test_no_size_means_all_examples() -> None:
    for inputs, _ in batches(make_data(), None):
        assert inputs.shape == (1, 7, 1)


def test_continues_from_a_saved_state() -> None:
    sampler, other = batches(make_data(), 3), batches(make_data(), 3, seed=9)
    list(sampler)
    other.load_state_dict(sampler.state_dict())
    for (a, _), (b, _) in zip(sampler, other, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("size", [0, 8, 1.5])
def test_a_bad_size_is_named(size: int) -> None:
    with pytest.raises(UserError, match="between 1 and examples_per_environment = 7"):
        batches(make_data(), size)
