"""FastResNet's layers see images whose channels lie side by side, and compute what they would otherwise."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from lab.models import FastResNet
from lab.models.fast_resnet import NORMS


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("channels", [1, 3])
def test_channels_lie_side_by_side(channels: int, norm: str) -> None:
    model = FastResNet(channels, 10, width=4, norm=norm)
    seen: list[tuple[int, ...]] = []
    for layer in model.modules():
        if isinstance(layer, (nn.BatchNorm2d, nn.GroupNorm)):
            layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].stride()))
    model(torch.randn(2, channels, 16, 16))
    assert [strides[1] for strides in seen] == [1] * 8


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("channels", [1, 3])
def test_the_layout_changes_no_number(channels: int, norm: str) -> None:
    torch.manual_seed(0)
    model = FastResNet(channels, 10, width=4, norm=norm).double()
    images = torch.randn(5, channels, 16, 16, dtype=torch.float64)

    def gradients(logits: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(logits.square().sum(), list(model.parameters()))

    ours, plain = model(images), model.classifier(model.features(images))
    torch.testing.assert_close(ours, plain)
    for one, another in zip(gradients(ours), gradients(plain), strict=True):
        torch.testing.assert_close(one, another, rtol=1e-6, atol=1e-9)


def test_vmap_follows_group_norm_in_this_layout() -> None:
    torch.manual_seed(0)
    model = FastResNet(3, 10, width=2, norm="group").double()
    values = {name: p.detach() for name, p in model.named_parameters()}
    images = torch.randn(3, 4, 3, 8, 8, dtype=torch.float64)

    def risk(values: dict[str, Tensor], x: Tensor) -> Tensor:
        logits: Tensor = functional_call(model, values, (x,))
        return logits.square().sum()

    together = vmap(grad(risk), in_dims=(None, 0))(values, images)
    for e, x in enumerate(images):
        for name, one in grad(risk)(values, x).items():
            torch.testing.assert_close(together[name][e], one)


def test_relu_after_the_maximum_is_relu_before_it() -> None:
    torch.manual_seed(0)
    model = FastResNet(3, 10, width=4)
    images = torch.randn(5, 3, 16, 16)

    def in_the_usual_order(x: Tensor) -> Tensor:
        for layer in model.features:
            pool = next(layer.children(), None)
            x = pool(torch.relu(x)) if isinstance(pool, nn.MaxPool2d) else layer(x)
        logits: Tensor = model.classifier(x)
        return logits

    ours, plain = model.classifier(model.features(images)), in_the_usual_order(images)
    assert torch.equal(ours, plain)
    parameters = list(model.parameters())
    for one, another in zip(
        *(torch.autograd.grad(y.square().sum(), parameters) for y in (ours, plain)), strict=True
    ):
        assert torch.equal(one, another)
