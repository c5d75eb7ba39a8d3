"""Which sampler a run draws its batches with."""

from __future__ import annotations

from typing import Any

from ilc.aggregators import Mean, TemporalMask
from ilc.data import Batches, EnvironmentBatches, ExampleBatches, OneEnvironmentBatches
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE
from ilc.seeding import generator_for
from ilc.training.recipe import Recipe

CHOICES = ("every_environment", "one_environment")


def build_sampler(experiment: dict[str, Any], recipe: Recipe) -> Batches:
    """Every step sees all environments, or one: ``dataset.batches``.

    Without that key the aggregator decides: the temporal mask needs one environment per step. Where
    ``gradients`` makes every example an environment, a step sees some of the examples.

    Raises:
        UserError: an unknown choice, or one with which the aggregator makes no sense.
    """
    dataset, aggregator, name = experiment["dataset"], recipe.aggregator, experiment["aggregator"]["name"]
    temporal = isinstance(aggregator, TemporalMask)
    choice = dataset.get("batches") or CHOICES[temporal]
    if choice not in CHOICES:
        raise UserError(f"dataset.batches must be one of {', '.join(CHOICES)}, got {choice!r}")
    if temporal and choice != "one_environment":
        raise UserError(
            f"aggregator={name} compares the environments over time, so every batch must come from one of "
            f"them: dataset.batches=one_environment instead of {choice}"
        )
    if temporal and experiment["gradients"] not in ("vectorized", "sequential"):
        raise UserError(
            f"aggregator={name} votes over steps, not over examples: take gradients=sequential instead of "
            f"gradients={experiment['gradients']}"
        )
    generator = generator_for(experiment["seed"], "batches")
    if experiment["gradients"] in PER_EXAMPLE:
        if choice != "every_environment":
            raise UserError(
                f"gradients={experiment['gradients']} draws examples from all environments: take "
                "dataset.batches=every_environment, or gradients=sequential"
            )
        return ExampleBatches(recipe.data, dataset["batch_size"], generator, recipe.device)
    if choice == "every_environment":
        return EnvironmentBatches(recipe.data, dataset["batch_size"], generator, recipe.device)
    if not isinstance(aggregator, Mean):
        raise UserError(
            f"aggregator={name} compares the environments of one batch, and dataset.batches=one_environment "
            "leaves it a single one: take aggregator=temporal_mask, which compares them over time, or "
            "dataset.batches=every_environment"
        )
    return OneEnvironmentBatches(recipe.data, dataset["batch_size"], generator, recipe.device)
