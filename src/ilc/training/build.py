"""From the resolved config to the objects of a run."""

from __future__ import annotations

import math
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from torch import nn, optim

from ilc.aggregators import Aggregator, DomainAdversarial, TemporalMask
from ilc.configuration.construct import construct, option_types, target_of
from ilc.data import Environments
from ilc.errors import UserError
from ilc.gradients import WAYS
from ilc.models import DomainAdversarialMLP
from ilc.objectives import RISKS
from ilc.optim import Regularizer
from ilc.seeding import seed_for
from ilc.training.batches import build_sampler
from ilc.training.random_state import seed_everything
from ilc.training.recipe import Recipe
from ilc.training.selection import check_selection
from ilc.training.state import TrainingState


def build_recipe(experiment: dict[str, Any], device: torch.device) -> Recipe:
    """Everything but the model, checked; the data, which takes longest, comes last.

    Raises:
        UserError: an unknown name, or an option that somebody refuses.
    """
    for key, known in (("risk", RISKS), ("gradients", WAYS)):
        if experiment[key] not in known:
            raise UserError(f"{key} must be one of {', '.join(known)}, got {experiment[key]!r}")
    trainer = OmegaConf.create({"_target_": "ilc.training.recipe.TrainerOptions", **experiment["trainer"]})
    recipe = Recipe(
        trainer=construct("trainer", trainer),
        risk=RISKS[experiment["risk"]],
        aggregator=construct("aggregator", OmegaConf.create(experiment["aggregator"])),
        gradients=experiment["gradients"],
        data=_build_data(experiment).to(device),
        device=device,
    )
    check_selection(recipe.trainer.selection, recipe.data.evaluation)
    return recipe


def _build_data(experiment: dict[str, Any]) -> Environments:
    """The dataset; ``seed`` and ``data_dir`` go to those that take them."""
    node = OmegaConf.create(experiment["dataset"])
    offered = {"seed": seed_for(experiment["seed"], "data"), "data_dir": experiment["data_dir"]}
    for key in offered.keys() & option_types(target_of(node)).keys():
        node[key] = offered[key]
    data: Environments = construct("dataset", node, without=["batch_size", "batches"])
    return data


def build_state(experiment: dict[str, Any], recipe: Recipe) -> TrainingState:
    """Model, optimizer, schedule and sampler, initialised from the run's seed.

    Raises:
        UserError: an option that somebody refuses.
    """
    seed, data, trainer = experiment["seed"], recipe.data, recipe.trainer
    seed_everything(seed_for(seed, "model and dropout"))
    model: nn.Module = construct(
        "model", OmegaConf.create(experiment["model"]), data.inputs.shape[2], data.n_outputs
    )
    _check_partners(model, recipe)
    model = model.to(recipe.device)
    optimizer, regularizer = build_optimizer(
        OmegaConf.create(experiment["optimizer"]), model, recipe.aggregator
    )
    milestones = [int(fraction * trainer.max_epochs) for fraction in trainer.milestones]
    return TrainingState(
        model=model,
        optimizer=optimizer,
        regularizer=regularizer,
        scheduler=optim.lr_scheduler.MultiStepLR(optimizer, milestones, gamma=trainer.lr_decay),
        sampler=build_sampler(experiment, recipe),
    )


def _check_partners(model: nn.Module, recipe: Recipe) -> None:
    """Raise UserError where a domain-adversarial model or aggregator lacks its other half."""
    is_adversarial = isinstance(model, DomainAdversarialMLP)
    if is_adversarial != isinstance(recipe.aggregator, DomainAdversarial):
        raise UserError("aggregator=dann and model=dann need each other: choose both, or neither")
    if isinstance(model, DomainAdversarialMLP) and model.n_environments != recipe.data.n_environments:
        raise UserError(
            f"model.n_environments must be the dataset's {recipe.data.n_environments}, "
            f"got {model.n_environments}: leave it out, or set dataset.n_environments"
        )


def build_optimizer(
    node: DictConfig, model: nn.Module, aggregator: Aggregator
) -> tuple[optim.Optimizer, Regularizer]:
    """The optimizer, and the regularizer that shares its section.

    Raises:
        UserError: an option that they refuse, or an optimizer that the aggregator cannot mask.
    """
    for key in ("lr", "weight_decay", "l1"):
        value = node[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise UserError(f"optimizer.{key} must be a finite number, got {value!r}")
    if node.lr <= 0:
        raise UserError(f"optimizer.lr must be above 0, got {node.lr}")
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer: optim.Optimizer = construct(
        "optimizer", node, parameters, without=("weight_decay", "l1", "decoupled")
    )
    if isinstance(aggregator, TemporalMask):
        if not isinstance(optimizer, optim.Adam):
            raise UserError(
                "aggregator=temporal_mask is a kind of Adam and takes its lr and betas from optimizer=adam, "
                f"got optimizer={node.name}"
            )
        optimizer = aggregator.optimizer(parameters, node.lr, tuple(node.betas))
    regularizer = Regularizer(parameters, float(node.weight_decay), float(node.l1), bool(node.decoupled))
    return optimizer, regularizer
