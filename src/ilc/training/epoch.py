"""One epoch of training."""

from __future__ import annotations

import torch

from ilc.errors import UserError
from ilc.gradients import backward
from ilc.training.recipe import Recipe
from ilc.training.state import TrainingState


def train_epoch(state: TrainingState, recipe: Recipe) -> float:
    """Take one step per batch; return the mean share of kept components (mask density).

    Raises:
        UserError: a risk or a parameter is no longer finite.
    """
    state.model.train()
    first_step = state.step
    risks, densities = [], []
    for inputs, targets in state.sampler:
        lr = state.optimizer.param_groups[0]["lr"]
        result = backward(state.model, recipe.risk, inputs, targets, recipe.aggregator, recipe.gradients)
        state.regularizer.before_step()
        state.optimizer.step()
        state.regularizer.after_step(lr)
        risks.append(result.risks.mean())
        densities.append(result.mask_density)
        state.step += 1
    state.scheduler.step()
    state.epoch += 1
    # Looked at once per epoch, so that an accelerator need not be waited for at every step.
    finite = torch.stack(risks).isfinite()
    if not bool(finite.all()):
        broken = first_step + int(finite.logical_not().nonzero()[0]) + 1
        raise UserError(_diverged(f"the risk is not finite at step {broken} (epoch {state.epoch})", lr))
    if not all(bool(p.isfinite().all()) for p in state.model.parameters()):
        raise UserError(_diverged(f"a parameter is not finite after step {state.step}", lr))
    return float(torch.stack(densities).mean())


def _diverged(what: str, lr: float) -> str:
    return (
        f"training diverged: {what} with a learning rate of {lr:g}. Take a smaller optimizer.lr. "
        "What was written before stays as it is"
    )
