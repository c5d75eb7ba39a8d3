from dataclasses import replace

import pytest
import torch

from ilc.aggregators import AndMask, GeometricMean, Mean
from lab.experiments.theory import landscape, linear_regression
from lab.experiments.theory.many_seeds import ManySeeds, Schedule
from lab.experiments.theory.problems import PROBLEMS

SCHEDULE = Schedule(lr=0.3, steps=1000, lr_decay=0.9995, weight_decay=0.01)


def risk(theta, x, y):
    return linear_regression.risk(theta, x)


def train_seeds(inputs, start, aggregator, schedule):
    seeds = ManySeeds(risk, risk, inputs, inputs[:, :, 0], start, aggregator, schedule)
    seeds.descend(schedule.steps)
    return seeds


@pytest.fixture(scope="module")
def solutions():
    inputs = linear_regression.make_inputs().expand(3, -1, -1)
    start = 0.1 * torch.randn(3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return {
        name: train_seeds(inputs, start, aggregator, SCHEDULE).solutions()
        for name, aggregator in {"mean": Mean(), "and": AndMask(1.0), "geometric": GeometricMean(1.0)}.items()
    }


def test_averaging_ends_in_the_patchwork(solutions):
    assert torch.allclose(solutions["mean"][:, :4], torch.full((3, 4), 0.32, dtype=torch.float64), atol=0.02)
    assert bool((solutions["mean"][:, 4] < 0.4).all())


@pytest.mark.parametrize("name", ["and", "geometric"])
def test_the_logical_and_ends_in_the_shared_solution(solutions, name):
    assert float(solutions[name][:, :4].abs().max()) < 0.05
    assert bool((solutions[name][:, 4] > 2.8).all())


def test_training_seeds_together_is_training_each_alone():
    inputs = linear_regression.make_inputs().expand(2, -1, -1)
    start = torch.tensor([[0.1, 0.0, -0.1, 0.2, 0.0], [0.0, 0.1, 0.1, 0.0, -0.1]], dtype=torch.float64)
    schedule = Schedule(lr=0.01, steps=50, adam=True)
    together = train_seeds(inputs, start, AndMask(1.0), schedule).solutions()
    for s in range(2):
        one = slice(s, s + 1)
        alone = train_seeds(inputs[one], start[one], AndMask(1.0), schedule)
        assert torch.allclose(alone.solutions()[0], together[s], atol=1e-12)


def test_a_seed_stops_at_the_risk_it_was_asked_for():
    inputs = linear_regression.make_inputs().expand(1, -1, -1)
    start = torch.zeros(1, 5, dtype=torch.float64)
    schedule = Schedule(lr=0.01, steps=1000, stop_at=0.3)
    trained = train_seeds(inputs, start, Mean(), schedule)
    assert 0 < int(trained.steps()[0]) < 1000
    assert 0.28 < float(linear_regression.risk(trained.solutions()[0], inputs[0]).mean()) <= 0.3


def test_the_landscape_has_its_two_minima_and_only_one_is_isolated_in_a_single_environment():
    for minimum in (landscape.CONSISTENT, landscape.PATCHWORK):
        theta = torch.tensor(minimum, dtype=torch.float64)
        for environment in landscape.TRAINING:
            assert float(environment(theta)) == pytest.approx(0, abs=1e-12)
            assert float(torch.func.grad(environment)(theta).norm()) == pytest.approx(0, abs=1e-9)
    lowest = {
        minimum: float(
            torch.linalg.eigvalsh(
                torch.autograd.functional.hessian(landscape.TRAINING[0], torch.tensor(minimum).double())
            )[0]
        )
        for minimum in (landscape.CONSISTENT, landscape.PATCHWORK)
    }
    assert lowest[landscape.CONSISTENT] == pytest.approx(1.0)
    assert lowest[landscape.PATCHWORK] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", ["A", "B", "held out"])
def test_the_landscapes_closed_form_gradient_is_its_gradient(name):
    theta = landscape.starts(20, torch.Generator().manual_seed(0)).requires_grad_()
    (expected,) = torch.autograd.grad(landscape.environment_risk(name)(theta).sum(), theta)
    assert torch.allclose(landscape.environment_gradient(name, theta.detach()), expected, atol=1e-12)


@pytest.mark.parametrize("make_problem", PROBLEMS.values())
def test_every_problem_has_matching_shapes_and_a_finite_test(make_problem):
    problem = make_problem(2, 0.1)
    assert problem.inputs.shape[:2] == problem.targets.shape[:2]
    assert len(problem.losses(1)) == problem.inputs.shape[1]
    assert float(problem.losses(1)[0](problem.start[1])) >= 0
    assert problem.test(1, problem.start[1]) >= 0
    if problem.irm_weight is not None:
        x, y = problem.inputs[0, 0], problem.targets[0, 0]
        plain = replace(problem, irm_weight=0.0).irm_objective()
        assert float(plain(problem.start[0], x, y)) == pytest.approx(
            float(problem.risk(problem.start[0], x, y))
        )
