"""The gradients of all environments or examples at the chosen components, from one pass."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from ilc._precision import widened
from ilc.aggregators import JointAggregator, Mean
from ilc.aggregators._joint import EnvironmentsInStep
from ilc.diagnosis._collected import Collected, Note
from ilc.diagnosis._components import Chosen
from ilc.errors import UserError
from ilc.gradients import EnvironmentGradients
from ilc.gradients._batches import Batch
from ilc.gradients._environment import trainable_parameters
from ilc.gradients._environment_gradients import gradients_of_step
from ilc.gradients._example_terms.batch_norm import normalises_by_batch
from ilc.gradients._tensor_tree import Values
from ilc.gradients._trials.choose_way import choose_way
from ilc.gradients._ways.by_layers import NoLayerError, by_layers, terms_of_environments
from ilc.gradients._ways.example_share import terms_of_examples
from ilc.gradients._ways.joint_loss import joint_loss_gradients
from ilc.gradients._ways.vectorized import by_vmap
from ilc.objectives import ObjectiveFunction


def of_environments(
    model: nn.Module, loss_fn: Any, inputs: Batch, targets: Batch, gradients: str, chosen: Chosen, note: Note
) -> Tensor:
    """Note the gradients of environments ``[E, N, ...]`` and return their risks ``[E]``."""
    parameters = trainable_parameters(model)

    def one_pass(model: nn.Module, loss_fn: ObjectiveFunction, x: Any, y: Any) -> EnvironmentGradients:
        collected = Collected(parameters, chosen, note, len(x))
        stacked = gradients == "vectorized" and not isinstance(x, list) and not isinstance(y, list)
        if stacked and _goes_by_layers(model, loss_fn, x, y):
            with suppress(NoLayerError):  # Raised before anything is collected.
                objectives = terms_of_environments(model, loss_fn, x, y, collected.terms)
                collected.end()
                return EnvironmentGradients(widened(objectives.risk.detach()), {})
        rows = Rows(list(parameters), chosen, collected)
        return joint_loss_gradients(model, loss_fn, x, y, rows, gradients)

    return gradients_of_step(model, loss_fn, inputs, targets, Mean(), gradients, instead=one_pass).risks


def _goes_by_layers(model: nn.Module, loss_fn: ObjectiveFunction, x: Any, y: Any) -> bool:
    return choose_way(model, loss_fn, x, y, by_vmap, by_layers) is by_layers


def of_examples(
    model: nn.Module, loss_fn: Any, inputs: Batch, targets: Batch, chosen: Chosen, note: Note
) -> Tensor:
    """Note the gradients of examples ``[E, 1, ...]`` and return their risks ``[E]``."""
    if any(map(normalises_by_batch, model.modules())):
        raise UserError(
            "BatchNorm in training mode mixes the examples, so that no gradient belongs to one example: call "
            "model.eval() before ilc.diagnose, or give environments and gradients='vectorized'"
        )
    ended = False

    def one_pass(model: nn.Module, loss_fn: ObjectiveFunction, x: Values, y: Values) -> EnvironmentGradients:
        nonlocal ended
        collected = Collected(trainable_parameters(model), chosen, note, len(x))
        objectives, _ = terms_of_examples(model, loss_fn, x, y, collected.terms, sums_of=collected.passes)
        collected.end()
        ended = True
        return EnvironmentGradients(widened(objectives.risk.detach()), {})

    risks = gradients_of_step(model, loss_fn, inputs, targets, Mean(), "per_example", instead=one_pass).risks
    if not ended:
        raise UserError(
            "no example has a finite risk, so there is no gradient to diagnose: check the batch and the "
            "parameters for NaN and infinity"
        )
    return risks


class Rows(JointAggregator):
    """Notes the gradients of all environments, and makes no update of them."""

    needs_rows = True

    def __init__(self, names: list[str], chosen: Chosen, collected: Collected) -> None:
        self._names, self._chosen, self._collected = names, chosen, collected

    def loss(self, environments: EnvironmentsInStep) -> tuple[Tensor, Tensor]:
        """Note the rows, and return a loss of zero."""
        rows = environments.rows()
        parts = torch.split(rows, [p.numel() for p in environments.parameters], 1)
        for name, part in zip(self._names, parts, strict=True):
            self._collected.rows(name, self._chosen.of_rows(part))
        # In half precision the losses are leaves, by which the caller differentiates.
        leaves = environments.losses.is_leaf and environments.losses.requires_grad
        zero = environments.losses.sum() * 0 if leaves else rows.new_zeros(())
        return zero, environments.risks.new_zeros(len(environments.risks))
