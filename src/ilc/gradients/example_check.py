"""Whether the votes of examples hold all that a model does with its parameters: seen from their sum."""

from __future__ import annotations

from weakref import WeakSet

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients.environment import differentiated, trainable_parameters
from ilc.gradients.example_objectives import example_objectives
from ilc.gradients.example_share import example_share
from ilc.gradients.left_behind import buffers_untouched, random_numbers_untouched
from ilc.objectives import ObjectiveFunction

# Relative to the parameter's gradient and to all: rounding, in half precision too, against a term left out.
_OF_THE_PARAMETER, _OF_ALL = 0.05, 1e-3

_adding_up: WeakSet[nn.Module] = WeakSet()


def check_shares(model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor) -> None:
    """When a model is first met, compare the sum of the examples' shares with autograd's gradient.

    Votes are rebuilt from what passes through layers. What uses a parameter otherwise (an output layer by
    ``F.linear`` with the embedding's weight, a hook that changes an output) is in the gradient alone.

    Raises:
        UserError: they differ, or a layer has no rule.
    """
    if model in _adding_up:
        return
    parameters = trainable_parameters(model)
    with random_numbers_untouched(inputs), buffers_untouched(model):
        torch.manual_seed(0)
        shares = example_share(model, loss_fn, inputs, targets).statistics
    with random_numbers_untouched(inputs), buffers_untouched(model):
        torch.manual_seed(0)
        loss = example_objectives(loss_fn, model(inputs.flatten(0, 1)), targets).loss.sum()
        gradients = differentiated(loss, model, parameters)
    of_all = torch.stack([gradient.double().norm() for gradient in gradients]).norm()
    for (name, share), gradient in zip(shares.items(), gradients, strict=True):
        missing = (share.total.double() - gradient.double()).norm()
        if missing > _OF_THE_PARAMETER * gradient.double().norm() + _OF_ALL * of_all:
            raise UserError(
                f"the votes per example for {name} do not add up to its gradient: the model uses it outside "
                "the layer that has it, or a hook changes what passes. Use gradients='per_example_loss'"
            )
    _adding_up.add(model)
