"""FastResNet's layers see images whose channels lie side by side, and compute what they would otherwise."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

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


def test_scaled_logits_are_an_eighth_of_a_last_layer_without_bias() -> None:
    torch.manual_seed(0)
    model = FastResNet(3, 10, width=4, scaled_logits=True)
    images = torch.randn(5, 3, 16, 16)
    assert model.classifier.bias is None and FastResNet(3, 10, width=4).classifier.bias is not None
    torch.testing.assert_close(model(images), model.features(images) @ model.classifier.weight.T / 8)


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


def test_the_layers_are_those_of_the_example_it_follows() -> None:
    """The example's order of operations, written down plainly, but for the last layer's bias and scale."""
    torch.manual_seed(0)
    model = FastResNet(3, 10, width=4).double().eval()
    for name, values in model.state_dict().items():
        if values.is_floating_point():  # Not the first values, with which every norm is the same.
            values.copy_(torch.rand_like(values) if "var" in name else 0.5 * torch.randn_like(values))
    values = list(model.state_dict().values())
    weights = [values[i : i + 5] for i in range(0, 48, 6)]

    def block(x: Tensor) -> Tensor:
        kernel, scale, shift, mean, variance = weights.pop(0)
        convolved = F.conv2d(x, kernel, padding=1)
        return F.relu(F.batch_norm(convolved, mean, variance, scale, shift))

    images = torch.randn(5, 3, 32, 32, dtype=torch.float64)
    x = F.max_pool2d(block(block(images)), 2)
    x = x + block(block(x))
    x = F.max_pool2d(block(x), 2)
    x = F.max_pool2d(block(x), 2)
    x = x + block(block(x))
    assert not weights
    logits = F.linear(x.amax((2, 3)), *values[48:])
    assert x.shape[1:] == (32, 4, 4)
    torch.testing.assert_close(model(images), logits)


def test_the_widths_are_those_of_the_example() -> None:
    model = FastResNet(3, 10)
    shapes = [tuple(p.shape) for p in model.parameters() if p.ndim == 4]
    widths = [(64, 3), (128, 64), (128, 128), (128, 128), (256, 128), (512, 256), (512, 512), (512, 512)]
    assert shapes == [(*width, 3, 3) for width in widths]
    assert model.classifier.weight.shape == (10, 512)
