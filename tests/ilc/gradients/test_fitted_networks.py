"""A network that has fitted its examples takes the same way as it did before: a resumed run goes on alike."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ilc import AndMask
from ilc.gradients import environment_gradients
from ilc.gradients._trials.choose_way import choose_way
from ilc.gradients._trials.example_check import check_example_terms
from ilc.gradients._ways.by_layers import by_layers
from ilc.gradients._ways.sequential import sequential
from ilc.gradients._ways.vectorized import by_vmap

SCALES = (1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)


class Mixed(nn.Module):
    """Mixes the examples of an environment where no layer shows it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        result: Tensor = self.last((hidden - hidden.mean(0)).tanh())
        return result


def perceptron(scale: float, dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(0)
    drop = [nn.Dropout(dropout)] if dropout else []
    inner = [nn.Linear(6, 16), nn.LeakyReLU(), *drop, nn.Linear(16, 16), nn.LeakyReLU()]
    model = nn.Sequential(*inner, nn.Linear(16, 2))
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(scale)
    return model


def fitted_batch(model: nn.Module, n_environments: int = 4, n_examples: int = 8) -> tuple[Tensor, Tensor]:
    """Every label is the one that the network gives, so that a large scale leaves no loss."""
    x = torch.randn(n_environments, n_examples, 6, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return x, model.eval()(x).argmax(-1)


@pytest.mark.parametrize("scale", SCALES)
def test_vectorized_goes_the_way_that_it_went_at_first(scale: float) -> None:
    for dropout, way in ((0.0, by_layers), (0.4, by_vmap)):
        model = perceptron(scale, dropout)
        inputs, targets = fitted_batch(model)
        assert choose_way(model.train(), F.cross_entropy, inputs, targets, by_vmap, by_layers) is way


@pytest.mark.parametrize("scale", SCALES)
def test_votes_per_example_are_not_refused(scale: float) -> None:
    model = perceptron(scale)
    inputs, targets = fitted_batch(model, 8, 1)
    assert check_example_terms(model, F.cross_entropy, inputs, targets)


@pytest.mark.parametrize("scale", SCALES)
def test_mixing_is_seen_all_the_same(scale: float) -> None:
    torch.manual_seed(0)
    model = Mixed()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(scale)
    inputs, targets = fitted_batch(model)
    way = choose_way(model, F.cross_entropy, inputs, targets, by_vmap, by_layers)
    assert way is by_vmap


def test_no_gradient_at_all_decides_nothing_for_later() -> None:
    model = perceptron(1.0)
    inputs, targets = torch.randn(4, 8, 6), torch.full((4, 8), -100)

    def loss(outputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs, labels, reduction="sum")

    assert choose_way(model, loss, inputs, targets, by_vmap, by_layers) is sequential
    labels = torch.randint(0, 2, (4, 8))
    found = environment_gradients(model, loss, inputs, labels, AndMask(0.5), "vectorized")
    expected = environment_gradients(model, loss, inputs, labels, AndMask(0.5), "sequential")
    for name, one in expected.statistics.items():
        torch.testing.assert_close(found.statistics[name].total, one.total)
    assert choose_way(model, loss, inputs, labels, by_vmap, by_layers) is by_layers
