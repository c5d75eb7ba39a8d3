"""The sampler that draws the batches of a run, unless the method has its own sampler."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ilc.aggregators import Aggregator, JointAggregator
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE
from lab.data import (
    AnyEnvironmentBatches,
    Batches,
    EnvironmentBatches,
    Environments,
    ExampleBatches,
    OneEnvironmentBatches,
)

KINDS = ("every_environment", "one_environment", "any_environment")


@dataclass(frozen=True)
class BatchOptions:
    """How batches are drawn: the options of the config, and what the run adds.

    Attributes:
        gradients: the way to obtain environment gradients.
        generator: the random number generator of the order.
        device: the device of the batches.
        batch_size: the number of examples per environment and step; None for all. If each example is an
            environment, or examples come from any environment, it is the number of examples per step.
        batches: ``every_environment``, ``one_environment`` or ``any_environment``; None leaves the choice
            to the method.

    Raises:
        UserError: there is no such kind of batches.
    """

    gradients: str
    generator: torch.Generator
    device: torch.device
    batch_size: int | None = None
    batches: str | None = None

    def __post_init__(self) -> None:
        if self.batches is not None and self.batches not in KINDS:
            raise UserError(f"dataset.batches must be one of {', '.join(KINDS)}, got {self.batches!r}")


def default_sampler(name: str, aggregator: Aggregator, data: Environments, options: BatchOptions) -> Batches:
    """The sampler for an aggregator.

    Every step sees all environments, unless ``dataset.batches`` says otherwise.

    If ``gradients`` makes every example an environment, a step sees some of the examples.

    Raises:
        UserError: the aggregator cannot work with the chosen batches.
    """
    arguments = (data, options.batch_size, options.generator, options.device)
    if options.gradients in PER_EXAMPLE:
        if isinstance(aggregator, JointAggregator):
            raise UserError(
                f"aggregator={name} compares environments, but gradients={options.gradients} makes every "
                "example an environment: take gradients=vectorized or gradients=sequential"
            )
        if options.batches not in (None, "every_environment"):
            raise UserError(
                f"gradients={options.gradients} draws examples from all environments, but "
                f"dataset.batches={options.batches} does not: take dataset.batches=every_environment, or "
                "gradients=sequential"
            )
        return ExampleBatches(*arguments)
    if options.batches in (None, "every_environment"):
        return EnvironmentBatches(*arguments)
    if options.batches == "any_environment":
        if aggregator.needs_environments:
            raise UserError(
                f"aggregator={name} needs the environment of every example, but batches of "
                "dataset.batches=any_environment do not hold it: take dataset.batches=every_environment, or "
                "aggregator=mean"
            )
        return AnyEnvironmentBatches(*arguments)
    if aggregator.needs_votes or isinstance(aggregator, JointAggregator):
        raise UserError(
            f"aggregator={name} compares the environments of one batch, but every batch of "
            "dataset.batches=one_environment holds a single environment: take aggregator=temporal_mask, "
            "which compares environments over time, or dataset.batches=every_environment"
        )
    return OneEnvironmentBatches(*arguments)
