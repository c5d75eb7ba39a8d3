"""Training steps on a GPU without Python in between: a CUDA graph is recorded once and then replayed.

A step of a small network starts hundreds of short operations. From Python this takes several times as long as
the operations themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn, optim

from ilc.aggregators import AndMask, Mean
from ilc.distributed import Processes
from lab.environment_task.method import TrainingMethod

STEPS_BEFORE = 3
"""Steps from Python that come first. In them libraries choose kernels and the optimizer makes its state."""


class StepNumbers(NamedTuple):
    """What one step tells, all on the device.

    Attributes:
        risks: ``[E]``.
        penalties: ``[E]``.
        kept_share: without dimensions.
        by_parameter: the kept share of every parameter by name, or nothing.
    """

    risks: Tensor
    penalties: Tensor
    kept_share: Tensor
    by_parameter: dict[str, Tensor]


Step = Callable[[Tensor, Tensor], StepNumbers]
"""Takes one step with inputs and targets."""


def can_be_repeated(
    model: nn.Module, method: TrainingMethod, optimizer: optim.Optimizer, processes: Processes
) -> bool:
    """Whether every step does the same operations, with other numbers, on a GPU.

    A model says so by ``same_every_step``. A method of its own may change its loss from step to step, and an
    aggregator may draw random numbers, so only the mean and the AND-mask are repeated.
    """
    same = type(method) is TrainingMethod and type(method.aggregator) in (Mean, AndMask)
    known = type(optimizer) is optim.Adam and getattr(model, "same_every_step", False)
    return _is_on_gpu(model) and same and known and processes.size == 1


def _is_on_gpu(model: nn.Module) -> bool:
    return next(model.parameters()).is_cuda


class RepeatedStep:
    """A step that is recorded after ``STEPS_BEFORE`` steps, and again when the learning rate has changed.

    A batch of another size than the first one has its step from Python.

    Args:
        step: the step; it must wait for no number of the device.
        optimizer: the optimizer of the step; it is told to keep its state on the device.
    """

    def __init__(self, step: Step, optimizer: optim.Optimizer) -> None:
        self._step, self._optimizer = step, optimizer
        for group in optimizer.param_groups:
            group["capturable"] = True
        self._taken = 0
        self._recording: _Recording | None = None

    def __call__(self, inputs: Tensor, targets: Tensor) -> StepNumbers:
        """Take one step."""
        self._taken += 1
        if self._taken <= STEPS_BEFORE:
            return self._step(inputs, targets)
        lr = float(self._optimizer.param_groups[0]["lr"])
        if self._recording is None or self._recording.lr != lr:
            self._recording = _Recording(self._step, inputs, targets, lr)
        if inputs.shape != self._recording.inputs.shape:
            return self._step(inputs, targets)
        return self._recording.replay(inputs, targets)


class _Recording:
    """A recorded step, with the memory that it reads and writes."""

    def __init__(self, step: Step, inputs: Tensor, targets: Tensor, lr: float) -> None:
        self.inputs, self.targets, self.lr = inputs.clone(), targets.clone(), lr
        self._graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self._graph):  # The operations are noted here, and not yet done.
            self._numbers = step(self.inputs, self.targets)

    def replay(self, inputs: Tensor, targets: Tensor) -> StepNumbers:
        """Take the step with another batch."""
        self.inputs.copy_(inputs)
        self.targets.copy_(targets)
        self._graph.replay()
        risks, penalties, kept_share, by_parameter = self._numbers
        # The next replay writes into the same memory.
        return StepNumbers(
            risks.clone(),
            penalties.clone(),
            kept_share.clone(),
            {name: share.clone() for name, share in by_parameter.items()},
        )
