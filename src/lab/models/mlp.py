"""The multilayer perceptron of the synthetic experiments (paper, appendix to section 3.1)."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from ilc.errors import UserError
from lab.models.size import check_size


class MLP(nn.Module):
    """A LeakyReLU perceptron from inputs ``[N, in_features]`` to logits ``[N, out_features]``.

    Each hidden layer consists of Linear, optional BatchNorm, LeakyReLU and optional dropout.

    Raises:
        UserError: there is no hidden layer, or sizes or dropout are out of range.
    """

    takes: ClassVar[tuple[str, ...]] = ("vectors",)
    """The kinds of inputs that the model accepts."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        hidden_units: int = 256,
        hidden_layers: int = 3,
        dropout: float = 0.0,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        if min(in_features, out_features, hidden_units, hidden_layers) < 1 or not 0 <= dropout < 1:
            raise UserError(
                "an MLP needs positive sizes and dropout in [0, 1), got "
                f"{in_features=}, {out_features=}, {hidden_units=}, {hidden_layers=}, {dropout=}"
            )
        n_inner = (hidden_layers - 1) * hidden_units**2
        check_size("mlp", n_inner + hidden_units * (in_features + out_features), hidden_layers)
        layers: list[nn.Module] = []
        width = in_features
        for _ in range(hidden_layers):
            layers.append(nn.Linear(width, hidden_units))
            if batch_norm:
                layers.append(nn.BatchNorm1d(hidden_units))
            layers.append(nn.LeakyReLU())
            if dropout > 0:
                layers.append(nn.Dropout(dropout))
            width = hidden_units
        layers.append(nn.Linear(width, out_features))
        self.layers = nn.Sequential(*layers)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the logits ``[N, out_features]``."""
        logits: Tensor = self.layers(inputs)
        return logits
