"""Datasets refuse what cannot be trained on; batches cover every example once."""

from __future__ import annotations

import math

import pytest
import torch

from ilc.errors import UserError
from lab.data import EnvironmentBatches, Environments, Split

TEST = {"test": Split(torch.zeros(2, 3), torch.zeros(2, dtype=torch.long))}


def data(n: int = 10) -> Environments:
    inputs = torch.arange(4 * n * 3).reshape(4, n, 3).float()
    return Environments(inputs, torch.arange(4 * n).reshape(4, n), TEST)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_must_be_finite(bad: float) -> None:
    inputs = torch.zeros(2, 3, 4)
    inputs[1, 2, 3] = bad
    with pytest.raises(UserError, match="train inputs contain NaN"):
        Environments(inputs, torch.zeros(2, 3, dtype=torch.long), TEST)
    with pytest.raises(UserError, match="test inputs contain NaN"):
        Environments(
            torch.zeros(2, 3, 4), torch.zeros(2, 3), {"test": Split(inputs.flatten(0, 1), torch.zeros(6))}
        )


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4)])
def test_environments_must_not_be_empty(shape: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match="at least one environment and one example"):
        Environments(torch.zeros(shape), torch.zeros(shape[:2]), TEST)


def test_shapes_must_match() -> None:
    with pytest.raises(UserError, match="equal E and N"):
        Environments(torch.zeros(2, 3, 4), torch.zeros(2, 4), TEST)


def test_a_test_split_is_needed() -> None:
    with pytest.raises(UserError, match="named 'test'"):
        Environments(torch.zeros(2, 3, 4), torch.zeros(2, 3), {})


@pytest.mark.parametrize("batch_size", [1, 3, 5, 10, None])
def test_an_epoch_holds_every_example_once_in_its_environment(batch_size: int | None) -> None:
    sampler = EnvironmentBatches(data(), batch_size, torch.Generator().manual_seed(0))
    batches = list(sampler)
    assert len(batches) == len(sampler)
    targets = torch.cat([y for _, y in batches], dim=1)
    assert torch.equal(targets.sort(dim=1).values, data().targets)
    for x, y in batches:
        assert torch.equal(x[..., 0], y.float() * 3)


def test_the_order_changes_between_epochs_and_continues_from_its_state() -> None:
    sampler = EnvironmentBatches(data(), 10 // 2, torch.Generator().manual_seed(0))
    first = [y for _, y in sampler]
    state = sampler.state_dict()
    second = [y for _, y in sampler]
    assert not torch.equal(torch.cat(first, 1), torch.cat(second, 1))
    again = EnvironmentBatches(data(), 10 // 2, torch.Generator())
    again.load_state_dict(state)
    assert all(torch.equal(a, b) for a, (_, b) in zip(second, again, strict=True))


@pytest.mark.parametrize("batch_size", [0, 11, 2.5])
def test_batch_sizes_out_of_range_are_refused(batch_size: int) -> None:
    with pytest.raises(UserError, match="between 1 and examples_per_environment = 10"):
        EnvironmentBatches(data(), batch_size, torch.Generator())


def test_the_batch_size_of_environments_of_one_example_names_the_ways_that_count_otherwise() -> None:
    single = Environments(torch.zeros(5, 1, 3), torch.zeros(5, 1, dtype=torch.long), TEST)
    with pytest.raises(UserError, match="a single example, so take gradients=per_example"):
        EnvironmentBatches(single, 4, torch.Generator())


def test_a_spread_of_examples_covers_the_split() -> None:
    split = Split(torch.arange(10), torch.arange(10))
    assert split.spread(4).inputs.tolist() == [0, 2, 5, 7]
    assert split.spread(None) is split
    assert split.spread(10) is split
