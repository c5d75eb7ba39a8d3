"""The perceptron of the IRM authors and of OoD-Bench for Colored MNIST."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from ilc.errors import UserError
from lab.models.size import check_size


class ReluMLP(nn.Module):
    """A ReLU perceptron from inputs ``[N, in_features]`` to logits ``[N, out_features]``.

    Hidden layers start with Xavier's uniform weights for ReLU and zero biases. The output layer starts as
    PyTorch's. So it is in OoD-Bench's fork of DomainBed (github.com/m-Just/DomainBed).

    Raises:
        UserError: there is no hidden layer, or a size is below 1.
    """

    takes: ClassVar[tuple[str, ...]] = ("vectors",)
    """The kinds of inputs that the model accepts."""

    def __init__(
        self, in_features: int, out_features: int, hidden_units: int = 390, hidden_layers: int = 2
    ) -> None:
        super().__init__()
        if min(in_features, out_features, hidden_units, hidden_layers) < 1:
            raise UserError(
                "a ReluMLP needs positive sizes, got "
                f"{in_features=}, {out_features=}, {hidden_units=}, {hidden_layers=}"
            )
        n_inner = (hidden_layers - 1) * hidden_units**2
        check_size("relu_mlp", n_inner + hidden_units * (in_features + out_features), hidden_layers)
        layers: list[nn.Module] = []
        for width in [in_features, *[hidden_units] * (hidden_layers - 1)]:
            hidden = nn.Linear(width, hidden_units)
            nn.init.xavier_uniform_(hidden.weight, nn.init.calculate_gain("relu"))
            nn.init.zeros_(hidden.bias)
            layers += [hidden, nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden_units, out_features))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the logits ``[N, out_features]``."""
        logits: Tensor = self.layers(inputs)
        return logits
