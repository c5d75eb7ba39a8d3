"""A training method: an aggregator, and everything that it changes in the training loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from torch import Tensor, nn, optim

from ilc.aggregators import Aggregator
from ilc.distributed import Processes
from ilc.gradients import BackwardResult
from ilc.objectives import ObjectiveFunction, Risk, RiskFunction
from lab.data import Batches, Environments
from lab.environment_task.batches import BatchOptions, default_sampler
from lab.environment_task.shared_step import backward_shared_by_processes

Metrics = dict[str, Any]


class TrainingMethod:
    """The way in which a run trains. This base class adds nothing to its aggregator.

    A method that changes the loop is a subclass in its own file. The subclass overrides the methods that it
    needs, and calls ``super().__init__`` with its aggregator. It is chosen like an aggregator, by a file in
    ``conf/aggregator/`` whose ``_target_`` names it.
    """

    adds_penalty: ClassVar[bool] = False
    """Whether ``objective`` adds a term to the risk. Its mean per epoch is then one of the metrics."""
    name: str = ""
    """The name of the method in the config, for messages."""

    def __init__(self, aggregator: Aggregator) -> None:
        self.aggregator = aggregator

    def sampler(self, data: Environments, options: BatchOptions) -> Batches:
        """The sampler that draws the batches of an epoch.

        Raises:
            UserError: the method cannot work with ``dataset.batches`` or with ``gradients``.
        """
        return default_sampler(self.name, self.aggregator, data, options)

    def check_model(self, model: nn.Module, data: Environments) -> None:
        """Raise UserError if the method cannot train this model on this data."""

    def optimizer(self, parameters: Iterable[nn.Parameter], configured: optim.Optimizer) -> optim.Optimizer:
        """The optimizer that takes the steps: that of the config, unless the method has its own."""
        return configured

    def prepare_targets(self, targets: Tensor) -> Tensor:
        """The targets that the objective receives, ``[E, N, ...]``."""
        return targets

    def before_step(self, step: int, optimizer: optim.Optimizer) -> None:
        """The loop calls this before every step; ``step`` is the number of steps so far."""

    def objective(self, risk: RiskFunction) -> ObjectiveFunction:
        """The function whose gradient each environment contributes to the next step."""
        return risk

    def backward(
        self,
        processes: Processes,
        model: nn.Module,
        objective: ObjectiveFunction,
        inputs: Tensor,
        targets: Tensor,
        gradients: str,
    ) -> BackwardResult:
        """Fill ``.grad`` from a batch ``[E, N, ...]``, equally in all processes.

        A gradient of None means no step.
        """
        return backward_shared_by_processes(
            processes, model, objective, inputs, targets, self.aggregator, gradients
        )

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that the method remembers from step to step, besides optimizer and sampler."""
        return self.aggregator.state_dict()

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from a state that ``state_dict`` returned."""
        self.aggregator.load_state_dict(state)

    @property
    def loss_scale(self) -> float:
        """The factor of the loss at the next step. A coupled weight decay gets the same factor."""
        return 1.0

    def kept_share(self, result: BackwardResult, optimizer: optim.Optimizer) -> Tensor:
        """The share of components that the last step kept (a tensor without dimensions)."""
        return result.overall_kept_share

    def penalty_not_finite(self, steps_taken: int, lr: float) -> str:
        """The message for an added term that is NaN or infinite at the step after ``steps_taken`` steps."""
        return (
            f"training diverged: the term that aggregator={self.name} adds to the risk is not finite at step "
            f"{steps_taken + 1} with a learning rate of {lr:g}. Take a smaller optimizer.lr. What was "
            "written before stays as it is"
        )

    def metrics(self, model: nn.Module, data: Environments, risk: Risk) -> Metrics:
        """Further metrics of an evaluation, besides risks and accuracies."""
        return {}

    def warning(self, metrics: Metrics, data: Environments, risk: Risk) -> str | None:
        """The warning about a known failure, seen in the last evaluation without test data; or None."""
        return None


def as_method(configured: TrainingMethod | Aggregator, name: str) -> TrainingMethod:
    """The method that the section ``aggregator`` describes.

    An aggregator becomes a method that adds nothing.
    """
    method = configured if isinstance(configured, TrainingMethod) else TrainingMethod(configured)
    method.name = name
    return method
