"""The last linear layer of a model, and the features that enter it."""

from __future__ import annotations

from torch import Tensor, nn

from ilc.errors import UserError


class LastInputs:
    """A hook that keeps the last inputs of its layer. It keeps nothing else, so that memory is freed."""

    inputs: Tensor

    def __call__(self, layer: nn.Module, inputs: tuple[Tensor]) -> None:
        """Note the inputs."""
        self.inputs = inputs[0]


def last_layer(model: nn.Module, name: str) -> tuple[nn.Linear, LastInputs]:
    """Return the last linear layer, and a hook that notes the features of every forward pass.

    Args:
        model: the model; its outputs must be those of this layer.
        name: the name of the method, for the message.

    Raises:
        UserError: the model has no linear layer.
    """
    linear = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    if not linear:
        raise UserError(
            f"aggregator={name} needs a model that ends in a linear layer, and this model has none: choose "
            "another model, such as model=mlp, or another aggregator"
        )
    last = LastInputs()
    linear[-1].register_forward_pre_hook(last)
    return linear[-1], last
