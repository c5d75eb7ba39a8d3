"""What a method is: an aggregator, and whatever else it asks of the loop that trains with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from torch import Tensor, nn, optim

from ilc._processes import Processes
from ilc.aggregators import Aggregator
from ilc.gradients import BackwardResult
from ilc.objectives import ObjectiveFunction, Risk, RiskFunction
from lab.data import Batches, Environments
from lab.environment_task.batches import BatchOptions, default_sampler
from lab.environment_task.parts import backward_in_parts

Metrics = dict[str, Any]


class Method:
    """Everything the loop asks of a way to train; this base class adds nothing to its aggregator.

    A method that touches the loop is a subclass in a file of its own, which overrides what it needs
    and calls ``super().__init__`` with its aggregator. It is chosen like an aggregator: a file in
    ``conf/aggregator/`` whose ``_target_`` names it.
    """

    adds_penalty: ClassVar[bool] = False
    """Whether ``objective`` adds a term to the risk, whose mean per epoch belongs into the metrics."""
    name: str = ""
    """What the config calls it, for messages."""

    def __init__(self, aggregator: Aggregator) -> None:
        self.aggregator = aggregator

    def sampler(self, data: Environments, options: BatchOptions) -> Batches:
        """What draws the batches of an epoch.

        Raises:
            UserError: ``dataset.batches`` or ``gradients`` with which the method makes no sense.
        """
        return default_sampler(self.name, self.aggregator, data, options)

    def check_model(self, model: nn.Module, data: Environments) -> None:
        """Raise UserError where the method cannot train this model on this data."""

    def optimizer(self, parameters: Iterable[nn.Parameter], configured: optim.Optimizer) -> optim.Optimizer:
        """What takes the steps: the optimizer of the config, unless the method has one of its own."""
        return configured

    def prepare_targets(self, targets: Tensor) -> Tensor:
        """What the objective gets as targets, ``[E, N, ...]``."""
        return targets

    def before_step(self, step: int, optimizer: optim.Optimizer) -> None:
        """Called before the step that follows after ``step`` steps."""

    def objective(self, risk: RiskFunction) -> ObjectiveFunction:
        """What is differentiated in each environment at the coming step."""
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
        """Fill ``.grad`` from a batch ``[E, N, ...]``, alike in all processes; None means no step."""
        return backward_in_parts(processes, model, objective, inputs, targets, self.aggregator, gradients)

    def state_dict(self) -> dict[str, Tensor]:
        """What is remembered from step to step beside optimizer and sampler."""
        return self.aggregator.state_dict()

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from there."""
        self.aggregator.load_state_dict(state)

    @property
    def loss_scale(self) -> float:
        """What the loss is multiplied by at the coming step; a coupled weight decay follows it."""
        return 1.0

    def kept_share(self, result: BackwardResult, optimizer: optim.Optimizer) -> Tensor:
        """The share of components that the last step kept (0-d)."""
        return result.overall_kept_share

    def penalty_not_finite(self, steps_taken: int, lr: float) -> str:
        """The message for an added term that is NaN or infinite at the step after ``steps_taken``."""
        return (
            f"training diverged: the term that aggregator={self.name} adds to the risk is not finite at step "
            f"{steps_taken + 1} with a learning rate of {lr:g}. Take a smaller optimizer.lr. What was "
            "written before stays as it is"
        )

    def metrics(self, model: nn.Module, data: Environments, risk: Risk) -> Metrics:
        """What an evaluation reports beside risks and accuracies."""
        return {}

    def warning(self, metrics: Metrics, data: Environments, risk: Risk) -> str | None:
        """A known failure that the last evaluation shows without looking at test data."""
        return None


def as_method(configured: Method | Aggregator, name: str) -> Method:
    """What the ``aggregator`` section describes: a method, or an aggregator that asks nothing of the loop."""
    method = configured if isinstance(configured, Method) else Method(configured)
    method.name = name
    return method
