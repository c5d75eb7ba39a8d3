"""The sections of ``experiment=skip_intervals`` other than the data and the schedules."""

from __future__ import annotations

from dataclasses import dataclass

from ilc.errors import UserError
from lab.experiments.skip_intervals.simulator import Simulator


@dataclass(frozen=True)
class SimulatorOptions:
    """Options of the simulator, which ``Simulator`` explains.

    Attributes:
        architecture: ``simple``, ``strided`` or ``dilated``.
        kernels: number of kernels of every layer except the last.
        residual: size of the logits that copy the input.
    """

    architecture: str
    kernels: int
    residual: float = 0.0

    def build(self) -> Simulator:
        """Return a new simulator."""
        return Simulator(self.architecture, self.kernels, self.residual)


@dataclass(frozen=True)
class StepOptions:
    """Options of a step of the optimizer, which is Adam.

    Attributes:
        warm_up: number of steps over which the learning rate rises to its value.
        clip: largest norm of the gradient; null for no clipping, as in the thesis.

    Raises:
        UserError: a number is out of range.
    """

    warm_up: int = 0
    clip: float | None = None

    def __post_init__(self) -> None:
        if self.warm_up < 0 or (self.clip is not None and self.clip <= 0):
            raise UserError(
                "optimizer.warm_up must be at least 0 and optimizer.clip above 0 or null, "
                f"got {self.warm_up} and {self.clip}"
            )
