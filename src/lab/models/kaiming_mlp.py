"""The perceptron of the authors' code for the spirals, whose first weights the paper leaves open."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lab.models.mlp import MLP

FIRST_BIAS = 0.01


class KaimingMLP(MLP):
    """A LeakyReLU perceptron from inputs ``[N, in_features]`` to logits ``[N, out_features]``.

    It differs from ``MLP`` as the authors' code does (gibipara92/learning-explanations-hard-to-vary). Weights
    start as Kaiming's normal ones, biases at 0.01. The first of several logits is 0. So with two classes
    there is one logit as in their code, and the cross entropy is the binary one.

    Raises:
        UserError: there is no hidden layer, or sizes or dropout are out of range.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        hidden_units: int = 256,
        hidden_layers: int = 3,
        dropout: float = 0.0,
        batch_norm: bool = False,
    ) -> None:
        n_constant = int(out_features > 1)
        super().__init__(
            in_features, out_features - n_constant, hidden_units, hidden_layers, dropout, batch_norm
        )
        self._n_constant = n_constant
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.kaiming_normal_(layer.weight)
                nn.init.constant_(layer.bias, FIRST_BIAS)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the logits ``[N, out_features]``."""
        logits = super().forward(inputs)
        return torch.cat([logits.new_zeros(len(logits), self._n_constant), logits], dim=-1)
