"""Batches of examples from any environments: each once per epoch, as one environment."""

from __future__ import annotations

import pytest
import torch

from ilc.errors import UserError
from lab.data import AnyEnvironmentBatches, Environments, Split

E, N = 5, 8
INPUTS = torch.arange(E * N).float().view(E, N, 1)
DATA = Environments(INPUTS, INPUTS.clone(), {"test": Split(INPUTS[0], INPUTS[0])})


def test_every_example_is_drawn_once_per_epoch() -> None:
    sampler = AnyEnvironmentBatches(DATA, 4, torch.Generator().manual_seed(0))
    drawn = list(sampler)
    assert len(drawn) == len(sampler) == E * N // 4
    assert all(inputs.shape == (1, 4, 1) and torch.equal(inputs, targets) for inputs, targets in drawn)
    seen = torch.cat([inputs.flatten() for inputs, _ in drawn])
    assert torch.equal(seen.sort().values, INPUTS.flatten())
    # Fewer examples than environments, and not the same environments in each.
    environments = {frozenset((inputs.flatten() // N).int().tolist()) for inputs, _ in drawn}
    assert len(environments) > 1
    assert max(map(len, environments)) > 1


def test_no_more_examples_than_there_are() -> None:
    with pytest.raises(UserError, match=r"examples per step, of any environments\) must lie between 1 and"):
        AnyEnvironmentBatches(DATA, E * N + 1, torch.Generator())
