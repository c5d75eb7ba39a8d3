"""The task of all trainings of one method on one problem: S data seeds times M draws of the options.

All trainings run together, as one program.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ilc.aggregators import Aggregator
from ilc.errors import UserError
from lab.configuration.section import Section
from lab.experiments.linear_unit_tests.data import SPLITS, UnitTests
from lab.experiments.linear_unit_tests.draws import options_of, starting_weights
from lab.experiments.linear_unit_tests.methods import METHODS, method_of
from lab.experiments.linear_unit_tests.selection import best_draw, summary
from lab.experiments.linear_unit_tests.steps import Models, train
from lab.machine.seeding import seed_for
from lab.runs.one_run.run_options import RunOptions
from lab.runs.one_run.task import Metrics


class LinearModels(nn.Module):
    """All models as one module, with weights ``[S, P, M]``: P - 1 features, then the bias."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.weights = nn.Parameter(weights)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return outputs ``[S, N, M]`` for inputs ``[S, N, P - 1]``."""
        return torch.baddbmm(self.weights[:, -1:], inputs, self.weights[:, :-1])


class LinearUnitTestsTask:
    """A ``Task`` whose epoch is ``steps_per_epoch`` full-batch steps of every model.

    Args:
        run: options that every run has.
        device: device to train on.
        dataset: section that makes the problem.
        method: a name of ``METHODS``; None to use the aggregator.
        aggregator: section that makes the aggregator, which combines the gradients if ``method`` is None.
        n_seeds: number of data seeds, from ``seed`` on.
        n_draws: number of draws of the options; the first draw takes the defaults.
        steps_per_epoch: number of full-batch steps per epoch.

    Raises:
        UserError: the method is unknown, a number is out of range, or the aggregator cannot be used here.
    """

    def __init__(
        self,
        run: RunOptions,
        device: torch.device,
        dataset: Section,
        method: str | None,
        aggregator: Section,
        n_seeds: int = 50,
        n_draws: int = 20,
        steps_per_epoch: int = 250,
    ) -> None:
        if method is not None and method not in METHODS:
            raise UserError(f"method must be one of {', '.join(METHODS)}, or null, got {method!r}")
        if method is not None and aggregator.name != "mean":
            raise UserError(
                f"method={method} does not use aggregator={aggregator.name}: add method=null to train with "
                "this aggregator"
            )
        if n_draws < 1 or steps_per_epoch < 1:
            raise UserError(
                f"n_draws and steps_per_epoch must be at least 1, got {n_draws} and {steps_per_epoch}"
            )
        new_aggregator = partial(aggregator.build, kinds=(Aggregator,), seed=seed_for(run.seed, "aggregator"))
        self.method = method_of(method, new_aggregator())
        self.data: UnitTests = dataset.build(
            kinds=(UnitTests,), seed=run.seed, n_seeds=n_seeds, shuffled=self.method.shuffled
        )
        self.risks = dict(self.data.to(device))
        dtype = self.risks["train"].dtype
        drawn = options_of(self.method.options, n_draws)
        self.options = {name: values.to(device, dtype) for name, values in drawn.items()}
        start = starting_weights(self.data.n_parameters, n_draws).to(device, dtype)
        self.model = LinearModels(start.expand(n_seeds, -1, -1).clone()).to(device)
        self.models = Models.starting_at(self.model.weights.data)
        self.steps_per_epoch, self.step = steps_per_epoch, 0
        # An aggregator may have state that belongs to its seeds, so every group of seeds has its own.
        few = self.risks["train"].seeds_at_once
        self.groups = [slice(first, first + few) for first in range(0, n_seeds, few)]
        self.aggregators: list[Aggregator] = [new_aggregator() for _ in self.groups]
        self.methods = [method_of(method, each) for each in self.aggregators]

    @torch.no_grad()
    def train_epoch(self) -> Metrics:
        """Train a few seeds at a time, so that on a CPU their examples stay in its cache."""
        for seeds, method in zip(self.groups, self.methods, strict=True):
            models, risk = self.models.of_seeds(seeds), self.risks["train"].of_seeds(seeds)
            train(models, risk, method, self.options, self.step, self.steps_per_epoch)
        self.step += self.steps_per_epoch
        return {}

    @torch.no_grad()
    def evaluate(self) -> Metrics:
        """Return the errors of the draw that is best on the validation split; see ``selection``."""
        errors = {split: self.risks[split].errors(self.models.weights).cpu() for split in SPLITS}
        return summary(errors, best_draw(errors["validation"]), self.data.seeds)

    def remarks(self, evaluations: Sequence[Metrics], selected: Metrics) -> dict[str, Any]:
        """Return the options of the chosen draw."""
        draw = selected["draw"]
        return {f"chosen/{name}": float(values[draw]) for name, values in self.options.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return the weights, the state of Adam and of the aggregators, and the step."""
        return {
            "models": self.models.state_dict(),
            "aggregators": [each.state_dict() for each in self.aggregators],
            "step": self.step,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state that ``state_dict`` returned."""
        for name, values in self.models.state_dict().items():
            values.copy_(state["models"][name])
        for aggregator, remembered in zip(self.aggregators, state["aggregators"], strict=True):
            aggregator.load_state_dict(remembered)
        self.step = state["step"]
