"""The losses that the scores need, made from a model and the data of environments."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ilc.consistency._derivatives import Loss
from ilc.gradients._batches import Batch, as_batches
from ilc.gradients._environment import as_objective, device_of, trainable_parameters
from ilc.gradients._passes.calls import arguments_of, value_of
from ilc.gradients._tensor_tree import Values
from ilc.objectives import ObjectiveFunction


def environment_losses(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Batch, targets: Batch = None
) -> tuple[list[Loss], Tensor]:
    """Return one loss per environment, as a function of the flat trainable parameters, and those parameters.

    The model is used in its present mode: call ``model.eval()`` first if it has dropout or BatchNorm.

    Args:
        model: as for ``ilc.backward``.
        loss_fn: as for ``ilc.backward``; of an ``Objective`` the loss counts.
        inputs: as for ``ilc.backward``.
        targets: as for ``ilc.backward``.

    Returns:
        E losses of ``[P]`` and the current parameters ``[P]``.

    Raises:
        UserError: the model has no trainable parameter, or the batch is no batch of ``ilc.backward``.
    """
    trained = trainable_parameters(model)
    x, y = as_batches(inputs, targets, device_of(model))
    pairs = list(zip(x, y, strict=True))
    theta_star = torch.cat([p.detach().flatten() for p in trained.values()])
    return losses_of_batches(model, loss_fn, pairs), theta_star


def losses_of_batches(
    model: nn.Module, loss_fn: ObjectiveFunction, batches: list[tuple[Values, Values]]
) -> list[Loss]:
    """Return the losses of environments whose inputs and targets are values already."""
    parameters = trainable_parameters(model)
    shapes = {name: p.shape for name, p in parameters.items()}
    sizes = [p.numel() for p in parameters.values()]

    def loss_of(x: Values, y: Values) -> Loss:
        arguments, keywords = arguments_of(x)

        def loss(theta: Tensor) -> Tensor:
            pieces = torch.split(theta, sizes)
            unflattened = {
                name: piece.view(shape) for (name, shape), piece in zip(shapes.items(), pieces, strict=True)
            }
            outputs = functional_call(model, unflattened, arguments, keywords)
            return as_objective(value_of(loss_fn, outputs, y)).loss

        return loss

    return [loss_of(x, y) for x, y in batches]
