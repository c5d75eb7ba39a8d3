"""Shuffling takes out one signal and leaves everything else of the spirals."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lab.data import Environments, make_spirals
from lab.experiments.spirals.signals import mechanism_only, shortcut_only


@pytest.fixture(scope="module")
def spirals() -> Environments:
    return make_spirals(seed=5, n_environments=4, examples_per_environment=500, shortcut_dimensions=3)


def _sorted_rows(rows: Tensor) -> list[tuple[float, ...]]:
    return sorted(tuple(row) for row in rows.tolist())


@pytest.mark.parametrize(
    ("remove", "left", "shuffled"),
    [(mechanism_only, slice(2), slice(2, None)), (shortcut_only, slice(2, None), slice(2))],
)
def test_one_part_stays_and_the_other_moves_as_whole_rows(
    spirals: Environments, remove: object, left: slice, shuffled: slice
) -> None:
    signal = remove(spirals, torch.Generator().manual_seed(0))  # type: ignore[operator]
    assert torch.equal(signal.targets, spirals.targets)
    assert torch.equal(signal.inputs[..., left], spirals.inputs[..., left])
    before, after = (data.pooled().inputs[:, shuffled] for data in (spirals, signal))
    assert _sorted_rows(before) == _sorted_rows(after)
    assert (before != after).any(1).float().mean() > 0.5


def test_shuffled_shortcuts_say_nothing_about_the_label(spirals: Environments) -> None:
    """Before, label times shortcut is constant within an environment; afterwards it averages out."""

    def strength(data: Environments) -> Tensor:
        signs = data.targets.float() * 2 - 1
        means: Tensor = (signs.unsqueeze(-1) * data.inputs[..., 2:]).mean(1)
        return means.square().sum(-1).sqrt()

    shuffled = mechanism_only(spirals, torch.Generator().manual_seed(1))
    assert (strength(shuffled) < 0.25 * strength(spirals).min()).all()


def test_the_original_is_not_changed(spirals: Environments) -> None:
    before = spirals.fingerprint()
    shortcut_only(spirals, torch.Generator().manual_seed(0))
    assert spirals.fingerprint() == before
