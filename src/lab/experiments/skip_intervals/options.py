"""The sections of ``experiment=skip_intervals`` beside the data and the schedules."""

from __future__ import annotations

from dataclasses import dataclass

from ilc.errors import UserError
from lab.experiments.skip_intervals.simulator import Simulator


@dataclass(frozen=True)
class SimulatorOptions:
    """The simulator; ``Simulator`` explains each.

    Attributes:
        architecture: ``simple``, ``strided`` or ``dilated``.
        kernels: of every layer but the last.
        residual: logits by which the input is copied.
    """

    architecture: str
    kernels: int
    residual: float = 0.0

    def build(self) -> Simulator:
        """A new simulator."""
        return Simulator(self.architecture, self.kernels, self.residual)


@dataclass(frozen=True)
class StepOptions:
    """How a step is taken, with Adam.

    Attributes:
        warm_up: steps over which the learning rate rises to its value.
        clip: norm that the gradient is cut to; null for none, as the thesis has it.

    Raises:
        UserError: a number out of range.
    """

    warm_up: int = 0
    clip: float | None = None

    def __post_init__(self) -> None:
        if self.warm_up < 0 or (self.clip is not None and self.clip <= 0):
            raise UserError(
                "optimizer.warm_up must be at least 0 and optimizer.clip above 0 or null, "
                f"got {self.warm_up} and {self.clip}"
            )
