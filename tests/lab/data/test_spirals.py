"""The dataset has the properties that the paper states, measured on the data itself."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from ilc.errors import UserError
from lab.data import Environments, make_spirals


@pytest.fixture(scope="module")
def paper() -> Environments:
    return make_spirals(seed=3)


def signs(targets: Tensor) -> Tensor:
    return targets.float() * 2 - 1


def test_sizes_are_the_papers(paper: Environments) -> None:
    assert paper.inputs.shape == (32, 1280, 34)
    assert paper.targets.shape == (32, 1280)
    assert paper.evaluation["test"].inputs.shape == (2000, 34)
    assert paper.n_outputs == 2


def test_labels_are_balanced(paper: Environments) -> None:
    assert paper.targets.float().mean().item() == pytest.approx(0.5, abs=0.01)


def test_the_shortcut_is_one_vector_per_environment_and_its_negative(paper: Environments) -> None:
    vectors = signs(paper.targets).unsqueeze(-1) * paper.inputs[..., 2:]
    torch.testing.assert_close(vectors, vectors[:, :1].expand_as(vectors))
    assert len({tuple(v.tolist()) for v in vectors[:, 0]}) == 32
    assert vectors[:, 0].var().item() == pytest.approx(0.1, rel=0.15)


def test_in_the_test_set_the_shortcut_says_nothing(paper: Environments) -> None:
    test = paper.evaluation["test"]
    shortcuts = test.inputs[:, 2:]
    assert shortcuts.var().item() == pytest.approx(0.1, rel=0.05)
    correlation = torch.corrcoef(torch.cat([signs(test.targets)[None], shortcuts.T]))[0, 1:]
    assert correlation.abs().max().item() < 4.5 / math.sqrt(2000)


def test_the_mechanism_is_a_pair_of_spirals() -> None:
    """Undo the spiral: label times point, at the angle that its radius calls for."""
    data = make_spirals(seed=1, n_environments=4, standardize_mechanism=False)
    points = signs(data.targets).unsqueeze(-1) * data.inputs[..., :2]
    radius = points.norm(dim=-1)
    assert 0.06 <= radius.min().item() < 0.1
    assert 0.98 < radius.max().item() <= 1.02
    angle = torch.atan2(points[..., 1], points[..., 0])
    turns = 2 * math.pi * 2
    off = (angle - turns * radius + math.pi) % (2 * math.pi) - math.pi
    assert off.abs().max().item() <= turns * 0.02 + 1e-4
    assert off.std().item() == pytest.approx(turns * 0.02 / math.sqrt(3), rel=0.05)


def test_training_and_test_share_the_scale_of_the_mechanism(paper: Environments) -> None:
    torch.testing.assert_close(paper.inputs[..., :2].std(dim=(0, 1)), torch.ones(2))
    assert paper.evaluation["test"].inputs[:, :2].std(dim=0) == pytest.approx([1, 1], rel=0.05)


def test_no_linear_rule_solves_the_mechanism(paper: Environments) -> None:
    correlation = torch.corrcoef(
        torch.cat([signs(paper.targets).reshape(1, -1), paper.inputs[..., :2].reshape(-1, 2).T])
    )
    assert correlation[0, 1:].abs().max().item() < 0.3


def test_figure_5_is_the_same_function() -> None:
    vectors = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    data = make_spirals(n_environments=2, shortcut_dimensions=2, shortcut_vectors=vectors, shortcut_noise=0.1)
    assert data.inputs.shape[-1] == 4
    means = (signs(data.targets).unsqueeze(-1) * data.inputs[..., 2:]).mean(1)
    torch.testing.assert_close(means, vectors, atol=0.02, rtol=0)


def test_rotated_inputs_are_the_same_ones_turned() -> None:
    plain, rotated = make_spirals(seed=1, n_test=50), make_spirals(seed=1, n_test=50, rotated=True)
    assert torch.equal(plain.targets, rotated.targets)
    x, turned = plain.inputs.flatten(0, 1).double(), rotated.inputs.flatten(0, 1).double()
    rotation = torch.linalg.lstsq(x, turned).solution
    torch.testing.assert_close(rotation @ rotation.T, torch.eye(34, dtype=torch.float64), rtol=0, atol=1e-4)
    test = plain.evaluation["test"].inputs.double() @ rotation
    torch.testing.assert_close(test, rotated.evaluation["test"].inputs.double(), rtol=0, atol=1e-4)
    # No input component is left with the mechanism alone.
    assert rotation[:2].square().max() < 0.6


def test_the_seed_decides() -> None:
    small = {"n_environments": 2, "examples_per_environment": 4}
    assert make_spirals(seed=0, **small).fingerprint() == make_spirals(seed=0, **small).fingerprint()
    assert make_spirals(seed=0, **small).fingerprint() != make_spirals(seed=1, **small).fingerprint()


@pytest.mark.parametrize(
    "options",
    [
        {"n_environments": 0},
        {"examples_per_environment": 0},
        {"shortcut_dimensions": -1},
        {"n_test": 2.5},
        {"radius_noise": -0.1},
        {"shortcut_variance": math.nan},
        {"source": "imagenet"},
        {"shortcut_vectors": torch.ones(1, 1)},
    ],
)
def test_bad_sizes_name_the_key(options: dict[str, object]) -> None:
    with pytest.raises(UserError, match=next(iter(options))):
        make_spirals(**options)  # type: ignore[arg-type]
