"""The authors' AND-mask on problem 3, as their script computes it: whether a gradient has the length zero.

Their script takes gradients of the logistic loss in float32. Where an example is classified with certainty,
its gradient there is exactly zero. If this is so for all examples of an environment, the length by which the
mask divides is zero, and the weights are no numbers from then on. Our kernel keeps such gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import torch
from torch import Tensor, nn

from lab.experiments.linear_unit_tests.data import UnitTests
from lab.experiments.linear_unit_tests.draws import options_of, starting_weights
from lab.experiments.linear_unit_tests.methods import METHODS
from lab.experiments.linear_unit_tests.problems import PROBLEMS, TEST
from lab.experiments.linear_unit_tests.results import UNDERFLOW
from lab.experiments.linear_unit_tests.steps import Models, train
from lab.experiments.measurement import Parts, Tables

ENVIRONMENTS, DIMENSIONS, EXAMPLES, STEPS, DRAWS = 3, 5, 10_000, 10_000, 20
CHOSEN = {"ours": 1, "theirs": 13}
"""The draw of the options that is chosen here, and the one that the authors chose."""


def parts(seeds: int = 50, as_they_do: int = 10) -> Parts:
    """Return a part per data seed of ``linear_unit_tests/underflow.csv``, with a row per draw.

    Args:
        seeds: the number of data seeds, from 0 on.
        as_they_do: for so many of them the authors' form is trained too, one model after the other.
    """
    return {f"seed{seed}": partial(_measure, seed, seed < as_they_do) for seed in range(seeds)}


def _measure(seed: int, as_they_do: bool) -> Tables:
    torch.set_num_threads(1)
    drawn = options_of(METHODS["and_mask_published"].options, DRAWS)
    start = starting_weights(2 * DIMENSIONS + 1, DRAWS)
    rows = []
    for (chosen_by, draw), error in zip(CHOSEN.items(), _errors(seed, drawn, start), strict=True):
        options = {name: float(values[draw]) for name, values in drawn.items()}
        row = {"seed": seed, "chosen_by": chosen_by, "draw": draw, **options, "steps": STEPS}
        row |= {"test_error": error, "as_they_do": as_they_do, "first_zero_step": "", "their_test_error": ""}
        if as_they_do:
            made = PROBLEMS["3"](ENVIRONMENTS, DIMENSIONS, DIMENSIONS, torch.Generator().manual_seed(seed))
            training, _, test = (
                [made.sample(EXAMPLES, e, split) for e in range(ENVIRONMENTS)]
                for split in ("train", "train", TEST)
            )
            model = nn.Linear(2 * DIMENSIONS, 1)
            model.weight.data, model.bias.data = start[None, :-1, draw].clone(), start[-1:, draw].clone()
            zero = first_zero(model, training, options, STEPS)
            row |= {"first_zero_step": zero} if zero else {"their_test_error": _error(model, test)}
        rows.append(row)
    return {UNDERFLOW.as_posix(): pd.DataFrame(rows)}


def _errors(seed: int, drawn: dict[str, Tensor], start: Tensor) -> list[float]:
    """Return the test errors of the two draws by our program, means over environments."""
    data = UnitTests(seed, 1, False, "3", ENVIRONMENTS, DIMENSIONS, DIMENSIONS, EXAMPLES)
    risks = dict(data.to(torch.device("cpu")))
    both = list(CHOSEN.values())
    models = Models.starting_at(start[None, :, both].clone())
    options = {name: values[both].float() for name, values in drawn.items()}
    with torch.no_grad():
        train(models, risks["train"], METHODS["and_mask_published"], options, 0, STEPS)
        errors: list[float] = risks[TEST].errors(models.weights)[0].mean(0).tolist()
    return errors


def first_zero(
    model: nn.Linear, training: Sequence[tuple[Tensor, Tensor]], options: dict[str, float], steps: int
) -> int | None:
    """Train the model as the authors' script does.

    Args:
        model: a linear layer with one output, which is trained in place.
        training: inputs ``[N, P]`` and targets ``[N]`` of each environment.
        options: ``lr``, ``weight_decay`` and ``tau``.
        steps: the number of steps.

    Returns:
        The first step, from 1 on, at which an environment's gradient has the length zero, where training
        ends; None if there is none.
    """
    parameters, loss = list(model.parameters()), nn.BCEWithLogitsLoss()
    for step in range(1, steps + 1):
        rows = [torch.autograd.grad(loss(model(x)[:, 0], y), parameters) for x, y in training]
        if any(float(weight.norm()) == 0 for weight, _ in rows):
            return step
        with torch.no_grad():
            weights = torch.cat([weight / weight.norm() for weight, _ in rows])
            biases = torch.stack([bias for _, bias in rows])
            for parameter, each in zip(parameters, (weights, biases), strict=True):
                mask = each.sign().sum(0).abs() > len(training) * options["tau"]
                parameter.sub_(options["lr"] * (mask * each.mean(0) + options["weight_decay"] * parameter))
    return None


def _error(model: nn.Linear, test: Sequence[tuple[Tensor, Tensor]]) -> float:
    """Return the share of wrong classes, a mean over environments."""
    with torch.no_grad():
        wrong = [((model(x)[:, 0] > 0).float() != y).float().mean() for x, y in test]
    return float(torch.stack(wrong).mean())
