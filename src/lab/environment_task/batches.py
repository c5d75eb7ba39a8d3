"""Which sampler a run draws its batches with, unless its method has one of its own."""

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
    """What the config says of batches.

    Attributes:
        gradients: how environment gradients are obtained.
        generator: source of the order.
        device: where the batches are wanted.
        batch_size: examples per environment and step (per step where each example is an environment, or where
            examples come from any environment); None for all.
        batches: ``every_environment``, ``one_environment``, ``any_environment``, or None where the config
            leaves it to the method.

    Raises:
        UserError: no such kind.
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
    """Every step sees all environments, unless ``dataset.batches`` asks for one, or for any.

    Where ``gradients`` makes every example an environment, a step sees some of the examples.

    Raises:
        UserError: a choice with which the aggregator makes no sense.
    """
    arguments = (data, options.batch_size, options.generator, options.device)
    if options.gradients in PER_EXAMPLE:
        if isinstance(aggregator, JointAggregator):
            raise UserError(
                f"aggregator={name} compares environments, and gradients={options.gradients} makes every "
                "example one: take gradients=vectorized or gradients=sequential"
            )
        if options.batches not in (None, "every_environment"):
            raise UserError(
                f"gradients={options.gradients} draws examples from all environments: take "
                "dataset.batches=every_environment, or gradients=sequential"
            )
        return ExampleBatches(*arguments)
    if options.batches in (None, "every_environment"):
        return EnvironmentBatches(*arguments)
    if options.batches == "any_environment":
        if aggregator.needs_environments:
            raise UserError(
                f"aggregator={name} asks which environment an example is from, and "
                "dataset.batches=any_environment "
                "does not say: take dataset.batches=every_environment, or aggregator=mean"
            )
        return AnyEnvironmentBatches(*arguments)
    if aggregator.needs_votes or isinstance(aggregator, JointAggregator):
        raise UserError(
            f"aggregator={name} compares the environments of one batch, and dataset.batches=one_environment "
            "leaves it a single one: take aggregator=temporal_mask, which compares them over time, or "
            "dataset.batches=every_environment"
        )
    return OneEnvironmentBatches(*arguments)
