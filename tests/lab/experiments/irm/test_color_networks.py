"""Networks on Colored MNIST: the two parts of a first layer, and what they are measured by."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from lab.data import Environments
from lab.experiments.irm import color_networks
from lab.experiments.irm.color_networks import (
    agreeing,
    apart,
    behaviour,
    environments,
    presented,
    trained_networks,
)
from lab.experiments.irm.color_votes import METHODS, TEST_NOISE

N = 100


@pytest.fixture(scope="module")
def data() -> Environments:
    return environments(0.2, 0, N, "digits", "data")


class ColorOnly(nn.Module):
    """Predicts the label that agrees with the colour: class 1 if the second channel is lit."""

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.stack([half.sum(-1) for half in inputs.chunk(2, dim=-1)], -1)


def linear(inputs: int, weight: Tensor) -> nn.Linear:
    layer = nn.Linear(inputs, 2)
    layer.weight.data.copy_(weight)
    layer.bias.data.zero_()
    return layer


def test_the_parts_are_an_orthogonal_change_of_basis(data: Environments) -> None:
    """So a network on pixels and the same network on shape and colour have the same outputs and votes."""
    weight = torch.randn(2, data.inputs.shape[-1], generator=torch.Generator().manual_seed(0))
    on_pixels, on_parts = (
        linear(weight.shape[1], weight),
        linear(weight.shape[1], torch.cat(apart(weight), 1)),
    )
    outputs = [
        network(presented(data.inputs, method))
        for network, method in ((on_pixels, "and_mask"), (on_parts, "and_mask_separate"))
    ]
    torch.testing.assert_close(*outputs)
    votes = [agreeing(on_pixels, data, "and_mask"), agreeing(on_parts, data, "and_mask_separate")]
    assert votes[0] == pytest.approx(votes[1], abs=0.01)


def test_votes_agree_on_a_color_until_it_is_turned_round(data: Environments) -> None:
    weight = torch.randn(2, data.inputs.shape[-1], generator=torch.Generator().manual_seed(0)) / 100
    network = linear(weight.shape[1], weight)
    turned = environments(0.9, 0, N, "digits", "data")
    assert agreeing(network, data, "mean")["kept_color"] > 0.9
    assert agreeing(network, turned, "mean")["kept_color"] < 0.1


def test_shape_does_not_change_with_the_color(data: Environments) -> None:
    turned = torch.cat(data.inputs.chunk(2, dim=-1)[::-1], -1)
    (shape, color), (same, other) = apart(data.inputs), apart(turned)
    assert torch.equal(shape, same) and torch.equal(color, -other) and color.any()


def test_a_network_that_sees_only_the_color_follows_it(data: Environments) -> None:
    found = behaviour(ColorOnly(), data, "mean")
    assert found["follows_color"] == 1
    assert found["test/accuracy"] == pytest.approx(1 - TEST_NOISE, abs=0.03)
    assert found["train/accuracy"] == pytest.approx(0.85, abs=0.08)


def test_every_method_trains_and_gray_images_have_no_color(
    data: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(color_networks, "STEPS", 3)
    for method in METHODS:
        kept = {step: share for step, _, share in trained_networks(method, data, 0)}
        assert list(kept) == [0, 3]
        assert (kept[3] < 1) == method.startswith("and_mask")
    *_, (_, network, _) = trained_networks("grayscale_mean", data, 0)
    assert behaviour(network, data, "grayscale_mean")["follows_color"] == 0
