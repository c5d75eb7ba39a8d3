"""The losses that the scores need, made from a model and the data of environments."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ilc.consistency._derivatives import Loss
from ilc.gradients import RiskFunction
from ilc.gradients._environment import trainable_parameters


def environment_losses(
    model: nn.Module, loss_fn: RiskFunction, inputs: Tensor, targets: Tensor
) -> tuple[list[Loss], Tensor]:
    """Return one loss per environment, as a function of the flat trainable parameters, and those parameters.

    The model is used in its present mode: call ``model.eval()`` first if it has dropout or BatchNorm.

    Args:
        model: called with one environment's inputs ``[N, ...]``.
        loss_fn: ``loss_fn(outputs, targets)``, the mean risk of one environment.
        inputs: ``[E, N, ...]``.
        targets: ``[E, N, ...]``.

    Returns:
        E losses of ``[P]`` and the current parameters ``[P]``.

    Raises:
        UserError: the model has no trainable parameter.
    """
    parameters = trainable_parameters(model)
    shapes = {name: p.shape for name, p in parameters.items()}
    sizes = [p.numel() for p in parameters.values()]

    def loss_of(x: Tensor, y: Tensor) -> Loss:
        def loss(theta: Tensor) -> Tensor:
            pieces = torch.split(theta, sizes)
            unflattened = {
                name: piece.view(shape) for (name, shape), piece in zip(shapes.items(), pieces, strict=True)
            }
            return loss_fn(functional_call(model, unflattened, (x,)), y)

        return loss

    theta_star = torch.cat([p.detach().flatten() for p in parameters.values()])
    return [loss_of(x, y) for x, y in zip(inputs, targets, strict=True)], theta_star
