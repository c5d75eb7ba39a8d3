"""One epoch of training."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.errors import UserError
from ilc.gradients import backward
from ilc.optim import TemporalMaskAdam
from ilc.training.recipe import Recipe
from ilc.training.state import TrainingState


def train_epoch(state: TrainingState, recipe: Recipe) -> float:
    """Take one step per batch; return the mean share of kept components (mask density).

    Raises:
        UserError: a risk, a penalty or a parameter is no longer finite.
    """
    state.model.train()
    aggregator, optimizer = recipe.aggregator, state.optimizer
    first_step = state.step
    risks, penalties, densities = [], [], []
    for inputs, targets in state.sampler:
        lr = optimizer.param_groups[0]["lr"]
        aggregator.step = state.step
        if aggregator.restarts_optimizer:
            optimizer.state.clear()
        result = backward(state.model, recipe.risk, inputs, targets, aggregator, recipe.gradients)
        state.regularizer.before_step(aggregator.loss_scale)
        optimizer.step()
        state.regularizer.after_step(lr)
        risks.append(result.risks.mean())
        penalties.append(result.penalties.mean())
        mask_density = (
            optimizer.kept_share if isinstance(optimizer, TemporalMaskAdam) else result.mask_density
        )
        densities.append(mask_density)
        state.step += 1
    state.scheduler.step()
    state.epoch += 1
    # Looked at once per epoch, so that an accelerator need not be waited for at every step.
    broken = _first_not_finite(penalties)
    if broken is not None:
        raise UserError(aggregator.not_finite(first_step + broken, lr))
    broken = _first_not_finite(risks)
    if broken is not None:
        step = first_step + broken + 1
        raise UserError(_diverged(f"the risk is not finite at step {step} (epoch {state.epoch})", lr))
    if not all(bool(p.isfinite().all()) for p in state.model.parameters()):
        raise UserError(_diverged(f"a parameter is not finite after step {state.step}", lr))
    return float(torch.stack(densities).mean())


def _first_not_finite(values: list[Tensor]) -> int | None:
    finite = torch.stack(values).isfinite()
    return None if bool(finite.all()) else int(finite.logical_not().nonzero()[0])


def _diverged(what: str, lr: float) -> str:
    return (
        f"training diverged: {what} with a learning rate of {lr:g}. Take a smaller optimizer.lr. "
        "What was written before stays as it is"
    )
