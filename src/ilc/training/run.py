"""One run, from its config to its folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from ilc.models import Linear
from ilc.training.build import build_recipe, build_state
from ilc.training.device import choose_device, peak_memory_mb
from ilc.training.epoch import train_epoch
from ilc.training.evaluation import evaluate, evaluate_penalty
from ilc.training.loggers import Logger, make_logger
from ilc.training.progress import EpochProgress
from ilc.training.provenance import provenance
from ilc.training.recipe import Recipe
from ilc.training.run_directory import RunDirectory
from ilc.training.state import TrainingState
from ilc.training.summary import summarize

Metrics = dict[str, float | int]


def run(experiment: dict[str, Any], path: Path, command: str) -> dict[str, Any]:
    """Train, or continue an interrupted run, or do nothing when it is done; return the summary.

    Args:
        experiment: the resolved config.
        path: the run's folder.
        command: what repeats this run, for its provenance.

    Raises:
        UserError: anything a user can mend; what was written before stays as it is.
    """
    title = f"{experiment['name']} {experiment['aggregator']['name']} seed {experiment['seed']}"
    device = choose_device(experiment["device"], experiment["threads"])
    directory = RunDirectory(path, experiment)
    if directory.is_done:
        print(f"{title}: done before, nothing to do")
        return directory.summary()
    with directory.alone():
        return _train(experiment, directory, device, title, command)


def _train(
    experiment: dict[str, Any], directory: RunDirectory, device: torch.device, title: str, command: str
) -> dict[str, Any]:
    began = time.monotonic()
    recipe = build_recipe(experiment, device)
    state = build_state(experiment, recipe)
    print(f"{title}: data: {recipe.data.source}; device: {device}")
    checkpoint = directory.load_checkpoint()
    if checkpoint is not None:
        state.load_state_dict(checkpoint)
        print(f"{title}: continuing after epoch {state.epoch}")
    evaluations = directory.keep_metrics(state.n_evaluations)
    directory.start(provenance(command, experiment, device, recipe.data))

    began -= state.wall_seconds
    with (
        make_logger(directory.path, experiment) as logger,
        EpochProgress(title, recipe.trainer.max_epochs, state.epoch) as progress,
    ):
        metrics = evaluations[-1] if evaluations else {}
        while state.epoch < recipe.trainer.max_epochs and recipe.trainer.reason_to_stop(metrics) is None:
            density = train_epoch(state, recipe)
            is_last = state.epoch == recipe.trainer.max_epochs
            if state.epoch % recipe.trainer.evaluate_every == 0 or is_last:
                metrics = _evaluate(state, recipe, density)
                state.wall_seconds = time.monotonic() - began
                evaluations.append(metrics)
                _record(metrics, state, directory, logger)
            progress.update(state.epoch, metrics)
    summary = {
        **summarize(evaluations, recipe),
        "parameters": sum(p.numel() for p in state.model.parameters() if p.requires_grad),
        "wall_seconds": time.monotonic() - began,
        "peak_memory_mb": peak_memory_mb(device),
    }
    if "warning" in summary:
        print(f"Warning: {summary['warning']}")
    directory.finish(summary)
    return summary


def _evaluate(state: TrainingState, recipe: Recipe, density: float) -> Metrics:
    """Metrics of the training data and of every evaluation split."""
    metrics: Metrics = {"step": state.step, "epoch": state.epoch, "mask/density": density}
    for name, split in {"train": recipe.data.pooled(), **recipe.data.evaluation}.items():
        some = split.spread(recipe.trainer.evaluation_examples)
        for key, value in evaluate(state.model, some, recipe.risk).items():
            metrics[f"{name}/{key}"] = value
    if recipe.aggregator.has_irm_penalty:
        metrics["train/penalty"] = evaluate_penalty(state.model, recipe.data, recipe.risk)
    if isinstance(state.model, Linear):
        weights = state.model.weight.flatten().tolist()
        metrics |= {f"weight/{i}": weight for i, weight in enumerate(weights)}
    return metrics


def _record(metrics: Metrics, state: TrainingState, directory: RunDirectory, logger: Logger) -> None:
    """Metrics first, then the checkpoint that counts them: a kill in between repeats, never loses."""
    directory.append_metrics(metrics)
    logger.log(metrics)
    state.n_evaluations += 1
    directory.save_checkpoint(state.state_dict())
