"""What is drawn: sizes, what rotation and shuffling leave alone, and the authors' order."""

from __future__ import annotations

import random

import pytest
import torch

from lab.experiments.linear_unit_tests.data import UnitTests
from lab.experiments.linear_unit_tests.draws import options_of, starting_weights
from lab.experiments.linear_unit_tests.methods import METHODS
from lab.experiments.linear_unit_tests.problems import PROBLEMS, TEST, part_of

N = 4000


def made(number: str, n_environments: int = 3, seed: int = 0, n_invariant: int = 5, n_spurious: int = 5):  # type: ignore[no-untyped-def]
    return PROBLEMS[number](n_environments, n_invariant, n_spurious, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("number", PROBLEMS)
@pytest.mark.parametrize("n_environments", [2, 10])
def test_sizes(number: str, n_environments: int) -> None:
    problem = made(number, n_environments)
    for environment in range(n_environments):
        inputs, targets = problem.sample(10, environment, "train")
        assert inputs.shape == (10, 10)
        assert targets.shape == (10,)


@pytest.mark.parametrize("number", PROBLEMS)
@pytest.mark.parametrize("n_spurious", [0, 2])
def test_few_spurious_dimensions(number: str, n_spurious: int) -> None:
    assert made(number, n_spurious=n_spurious).sample(10, 0, TEST).inputs.shape == (10, 5 + n_spurious)


def test_the_spurious_features_predict_in_training_and_not_in_the_test_split() -> None:
    for number in PROBLEMS:
        problem = made(number)
        for split, low, high in (("train", 0.3, 1.1), (TEST, 0.0, 0.1)):
            inputs, targets = problem.sample(N, 2, split)
            spurious = inputs[:, 5:]
            both = torch.cat([spurious, targets[:, None]], 1)
            solution = torch.linalg.lstsq(
                spurious - spurious.mean(0), (targets - targets.mean())[:, None]
            ).solution
            explained = ((spurious - spurious.mean(0)) @ solution).var() / targets.var()
            assert both.isfinite().all()
            assert low <= explained <= high, (number, split, float(explained))


@pytest.mark.parametrize(("n_spurious", "kept"), [(5, 0), (10, 5)])
def test_problem_2_shuffles_what_the_published_numbers_shuffled(n_spurious: int, kept: int) -> None:
    """It shuffles from index ``n_spurious`` on, so some of many spurious features still say the class."""
    inputs, targets = made("2", n_spurious=n_spurious).sample(N, 2, TEST)
    right = ((inputs[:, 5:] > 0) == targets[:, None].bool()).float().mean(0)
    assert int((right > 0.9).sum()) == kept


@pytest.mark.parametrize("problem", ["2", "2s"])
def test_unequal_dimensions_of_problem_2_are_warned_of(problem: str) -> None:
    with pytest.warns(UserWarning, match="shuffles the wrong features"):
        UnitTests(0, 1, False, problem, spurious_dimensions=10, examples_per_environment=20)


def test_a_rotation_moves_inputs_and_nothing_else() -> None:
    for number in PROBLEMS:
        plain, turned = made(number), made(number)
        turned.turn(1.0)
        # What came after the rotation would be drawn otherwise, so it starts again.
        plain.random.manual_seed(1)
        turned.random.manual_seed(1)
        x, y = plain.sample(50, 1, TEST)
        z, same = turned.sample(50, 1, TEST)
        assert torch.equal(y, same)
        torch.testing.assert_close(z @ turned.rotation.T, x, rtol=1e-4, atol=1e-5)
        assert not torch.allclose(z, x)


@pytest.mark.parametrize("seed", range(6))
def test_part_of_a_rotation(seed: int) -> None:
    whole = torch.linalg.qr(torch.randn(7, 7, generator=torch.Generator().manual_seed(seed))).Q
    half = part_of(whole, 0.5)
    torch.testing.assert_close(half @ half, part_of(whole, 1.0), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(half @ half.T, torch.eye(7), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(part_of(whole, 0.0), torch.eye(7), rtol=1e-4, atol=1e-5)
    if torch.linalg.det(whole) > 0:
        torch.testing.assert_close(part_of(whole, 1.0), whole, rtol=1e-4, atol=1e-5)


def test_draws_are_the_authors() -> None:
    """Draw 0 has the defaults; the others begin with the two that every method searches, in one order."""
    plain, irm = (options_of(METHODS[name].options, 3) for name in ("plain", "irm_penalty"))
    assert plain["lr"][0] == 1e-3
    assert plain["weight_decay"][0] == 0
    assert torch.equal(plain["lr"], irm["lr"])
    assert torch.equal(plain["weight_decay"], irm["weight_decay"])
    draws = random.Random(1002)
    assert float(irm["lr"][2]) == pytest.approx(10 ** draws.uniform(-4, -2))
    assert float(irm["weight_decay"][2]) == pytest.approx(10 ** draws.uniform(-6, -2))
    assert float(irm["irm_lambda"][2]) == pytest.approx(1 - 10 ** draws.uniform(-3, -0.3))


def test_starting_weights_are_those_of_a_linear_layer() -> None:
    torch.manual_seed(1002)
    layer = torch.nn.Linear(10, 1)
    expected = torch.cat([layer.weight.detach()[0], layer.bias.detach()])
    torch.testing.assert_close(starting_weights(11, 3)[:, 2], expected)
