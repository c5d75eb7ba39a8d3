"""Large convolutions go one environment after another on a CPU; small ones and other models do not."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.gradients import sequential, vectorized
from ilc.gradients._trials.choose_way import choose_way
from ilc.gradients._trials.convolution_work import convolutions_are_faster_in_turn
from ilc.gradients._ways.vectorized import by_vmap


class Counting(nn.Module):
    """A convolutional network with BatchNorm and an attribute that every pass changes."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.calls = 0
        self.layers = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(width, 4),
        )

    def forward(self, images: Tensor) -> Tensor:
        self.calls += 1
        result: Tensor = self.layers(images)
        return result


def batch(e: int, n: int, size: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    return torch.randn(e, n, 3, size, size, generator=random), torch.randint(0, 4, (e, n), generator=random)


def in_turn(model: nn.Module, e: int, n: int, size: int) -> bool:
    return convolutions_are_faster_in_turn(model, F.cross_entropy, batch(e, n, size)[0])


def test_large_convolutions_take_the_way_of_a_plain_loop() -> None:
    inputs, targets = batch(3, 32, 32)
    model, other = Counting(32).layers, Counting(32).layers
    assert choose_way(model, F.cross_entropy, inputs, targets, by_vmap) is sequential
    ours, loop = (
        way(network, F.cross_entropy, inputs, targets)
        for way, network in ((vectorized, model), (sequential, other))
    )
    for name, statistics in ours.statistics.items():
        assert torch.equal(statistics.total, loop.statistics[name].total)
        assert torch.equal(statistics.sign_sum, loop.statistics[name].sign_sum)


def test_what_decides() -> None:
    assert in_turn(Counting(), 3, 64, 32)
    assert not in_turn(Counting(), 1, 64, 32), "there is one environment, and it is one pass in any way"
    assert not in_turn(Counting(), 3, 2, 8), "there is little to compute"
    assert not in_turn(Counting(), 512, 1, 16), "many small environments: a pass for each costs more"
    assert not in_turn(nn.Sequential(nn.Flatten(), nn.Linear(3072, 900), nn.Linear(900, 4)), 3, 64, 32)


def test_it_asks_without_a_trace() -> None:
    model = Counting()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    assert in_turn(model, 3, 64, 32)
    assert model.calls == 0 and all(p.grad is None for p in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)


def test_a_model_that_fails_is_left_to_the_step() -> None:
    model = Counting()
    inputs = torch.randn(3, 64, 5, 32, 32)
    assert not convolutions_are_faster_in_turn(model, F.cross_entropy, inputs)
    with pytest.raises(RuntimeError, match="channels"):
        model(inputs[0])
