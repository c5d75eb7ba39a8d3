"""Every method against a plain training with autograd, one model at a time, as the authors train."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask
from lab.configuration.compose import compose_experiment
from lab.experiments.linear_unit_tests.draws import options_of, starting_weights
from lab.experiments.linear_unit_tests.methods import METHODS
from lab.experiments.linear_unit_tests.problems import PROBLEMS, TEST
from lab.experiments.linear_unit_tests.task import LinearUnitTestsTask
from lab.runs.one_run.run_options import RunOptions

N, E, N_SEEDS, N_DRAWS, STEPS = 40, 3, 2, 3, 6


def task_of(*overrides: str) -> LinearUnitTestsTask:
    content: dict[str, Any] = compose_experiment(
        [
            "experiment=linear_unit_tests",
            f"n_seeds={N_SEEDS}",
            f"n_draws={N_DRAWS}",
            f"steps_per_epoch={STEPS // 2}",
            f"dataset.examples_per_environment={N}",
            "dataset.invariant_dimensions=3",
            "dataset.spurious_dimensions=2",
            "device=cpu",
            *overrides,
        ]
    )
    task = RunOptions.of(content).build_task(torch.device("cpu"))
    assert isinstance(task, LinearUnitTestsTask)
    return task


def penalised(
    method: str, losses: list[Tensor], model: nn.Linear, options: dict[str, float], dummies: list[Tensor]
) -> Tensor:
    """The loss of the methods that step with Adam, from its definition."""
    mean = torch.stack(losses).mean()
    if method == "irm_penalty":
        penalty = torch.zeros(())
        for loss in losses:
            for g in torch.autograd.grad(loss, dummies, create_graph=True):
                penalty = penalty + g.square().sum()
        return (1 - options["irm_lambda"]) * mean + options["irm_lambda"] * penalty
    if method == "iga":
        of_mean = torch.autograd.grad(mean, list(model.parameters()), create_graph=True)
        penalty = torch.zeros(())
        for loss in losses:
            own = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
            for one, other in zip(own, of_mean, strict=True):
                penalty = penalty + (one - other).square().sum()
        return mean + options["penalty"] * penalty
    return mean


def trained_alone(
    problem: str, method: str | None, seed: int, draw: int, n_steps: int
) -> tuple[Tensor, Tensor]:
    """Weights ``[P]`` and test errors ``[E]`` of one training, in double precision."""
    random = torch.Generator().manual_seed(seed)
    made = PROBLEMS[problem[0]](E, 3, 2, random)
    if problem.endswith("s"):
        made.turn(1.0)
    split = TEST if method == "oracle" else "train"
    training = [made.sample(N, e, split) for e in range(E)]
    _ = [made.sample(N, e, split) for e in range(E)]
    test = [made.sample(N, e, TEST) for e in range(E)]
    known = METHODS["plain" if method is None else method]
    options = {name: float(values[draw]) for name, values in options_of(known.options, N_DRAWS).items()}
    start = starting_weights(6, N_DRAWS)[:, draw].double()
    model = nn.Linear(5, 1).double()
    model.weight.data, model.bias.data = start[None, :-1].clone(), start[-1:].clone()
    criterion = F.mse_loss if problem[0] == "1" else F.binary_cross_entropy_with_logits
    parameters = list(model.parameters())
    coupled = 0.0 if method is None else options["weight_decay"]
    adam = torch.optim.Adam(parameters, lr=options["lr"], weight_decay=coupled)
    for _ in range(n_steps):
        scale, shift = torch.ones((), requires_grad=True), torch.zeros((), requires_grad=True)
        losses = [criterion(model(x.double())[:, 0] * scale + shift, y.double()) for x, y in training]
        if method == "and_mask_published":
            rows = [torch.autograd.grad(loss, parameters) for loss in losses]
            weights = torch.cat([w / w.norm() for w, _ in rows])
            biases = torch.stack([b for _, b in rows])
            with torch.no_grad():
                for p, each in zip(parameters, (weights, biases), strict=True):
                    votes = each.sign().sum(0).abs()
                    masked = each.mean(0) * (votes > E * options["tau"])
                    p.copy_(p - options["lr"] * masked - options["lr"] * options["weight_decay"] * p)
            continue
        adam.zero_grad()
        if method is None:
            rows = [torch.autograd.grad(loss, parameters) for loss in losses]
            for p, each in zip(parameters, zip(*rows, strict=True), strict=True):
                p.grad = AndMask(0.9)(torch.stack(each))
                p.data.mul_(1 - options["lr"] * options["weight_decay"])
        else:
            penalised(method, losses, model, options, [scale, shift]).backward()
        adam.step()
    errors = []
    for x, y in test:
        outputs = model(x.double())[:, 0].detach()
        wrong = (outputs > 0).double().ne(y.double()).double()
        errors.append(((outputs - y) ** 2).mean() if problem[0] == "1" else wrong.mean())
    return torch.cat([model.weight.detach()[0], model.bias.detach()]), torch.stack(errors)


@pytest.mark.filterwarnings("ignore:with 3 invariant and 2 spurious dimensions")
@pytest.mark.parametrize("problem", ["1", "1s", "2s", "3"])
@pytest.mark.parametrize("method", [*METHODS, None])
def test_all_at_once_as_one_by_one(problem: str, method: str | None) -> None:
    more = ["method=null", "aggregator=and_mask"] if method is None else [f"method={method}"]
    task = task_of(f"dataset.problem={problem}", *more)
    for _ in range(2):
        task.train_epoch()
    errors = task.risks["test"].errors(task.models.weights)
    # Steps with Adam are as large where a gradient all but vanishes, and as rounded as that.
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if problem[0] == "1" else {"rtol": 5e-3, "atol": 1e-4}
    for seed in range(N_SEEDS):
        for draw in range(N_DRAWS):
            weights, expected = trained_alone(problem, method, seed, draw, STEPS)
            torch.testing.assert_close(task.models.weights[seed, :, draw].double(), weights, **tolerance)
            torch.testing.assert_close(errors[seed, :, draw].double(), expected, rtol=1e-3, atol=0.026)


def test_more_models_than_fit_at_once_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from lab.experiments.linear_unit_tests import risks

    expected = task_of("dataset.problem=3s", "method=irm_penalty")
    expected.train_epoch()
    monkeypatch.setattr(risks, "_OUTPUTS_AT_ONCE", {"cpu": 1})
    found = task_of("dataset.problem=3s", "method=irm_penalty")
    found.train_epoch()
    torch.testing.assert_close(found.models.weights, expected.models.weights)


def test_the_weight_of_iga_changes_the_update() -> None:
    """In a well known suite it once did not: the gradients it compares were cut off from the weights."""
    task = task_of("dataset.problem=1", "method=iga")
    with torch.no_grad():
        options = {**task.options, "penalty": torch.zeros_like(task.options["penalty"])}
        direction, weights = task.method.direction, task.models.weights
        with_penalty = direction(task.risks["train"], weights, task.options)
        without = direction(task.risks["train"], weights, options)
    assert (with_penalty - without).abs().amin() > 0


@pytest.mark.parametrize("problem", ["1", "3s"])
def test_weights_on_environments_are_the_gradient_of_their_loss(problem: str) -> None:
    task = task_of(f"dataset.problem={problem}", "method=null", "aggregator=v_rex")
    with torch.no_grad():
        found = task.methods[0].direction(
            task.risks["train"].of_seeds(slice(0, 1)), task.models.weights[:1], {}
        )
    random = torch.Generator().manual_seed(0)
    made = PROBLEMS[problem[0]](E, 3, 2, random)
    if problem.endswith("s"):
        made.turn(1.0)
    training = [made.sample(N, e, "train") for e in range(E)]
    criterion = F.mse_loss if problem[0] == "1" else F.binary_cross_entropy_with_logits
    for draw in range(N_DRAWS):
        weights = task.models.weights[0, :, draw].detach().double().requires_grad_()
        risks = torch.stack(
            [criterion(x.double() @ weights[:-1] + weights[-1], y.double()) for x, y in training]
        )
        (risks.mean() + 10 * (risks - risks.mean()).square().mean()).backward()
        torch.testing.assert_close(found[0, :, draw].double(), weights.grad, rtol=1e-3, atol=1e-5)
