"""ResNet-18: torchvision's own at full width, the same layers with fewer channels below it."""

from __future__ import annotations

import pytest
import torch

from ilc.errors import UserError
from lab.machine.torchvision_import import import_torchvision
from lab.models import ResNet18


def test_full_width_is_torchvisions() -> None:
    ours = ResNet18(3, 15).eval()
    theirs = import_torchvision("torchvision.models").resnet18(num_classes=15).eval()
    theirs.load_state_dict(ours.network.state_dict())
    images = torch.rand(2, 3, 64, 64)
    torch.testing.assert_close(ours(images), theirs(images))


def test_resizing_to_full_width_gives_the_same_network() -> None:
    """The narrow construction at width 64 is torchvision's network, layer for layer."""
    from lab.models.resnet18 import _resize

    theirs = import_torchvision("torchvision.models").resnet18(num_classes=15).eval()
    rebuilt = import_torchvision("torchvision.models").resnet18(num_classes=15).eval()
    _resize(rebuilt, 3, 15, 64)
    rebuilt.eval().load_state_dict(theirs.state_dict())
    images = torch.rand(2, 3, 64, 64)
    torch.testing.assert_close(rebuilt(images), theirs(images))


@pytest.mark.parametrize("width", [4, 16])
def test_a_narrow_one_has_its_share_of_the_channels(width: int) -> None:
    full, narrow = ResNet18(3, 15).state_dict(), ResNet18(3, 15, width).state_dict()
    assert full.keys() == narrow.keys()
    for name, value in full.items():
        if value.ndim:
            assert narrow[name].shape[0] in (value.shape[0] * width // 64, 15), name


def test_bytes_are_scaled() -> None:
    model = ResNet18(3, 15, 4).eval()
    images = torch.randint(0, 256, (2, 3, 64, 64), dtype=torch.uint8)
    torch.testing.assert_close(model(images), model(images / 255.0))


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(UserError, match="positive sizes"):
        ResNet18(3, 15, 0)


@pytest.mark.parametrize("width", [4, 8, 16])
def test_gradients_do_not_depend_on_the_order_in_memory(width: int) -> None:
    """With few channels side by side, oneDNN writes past its memory on some processors."""
    torch.manual_seed(0)
    ours, plain = (ResNet18(3, 5, width).double() for _ in range(2))
    plain.load_state_dict(ours.state_dict())
    plain.network.to(memory_format=torch.contiguous_format)
    images = torch.rand(4, 3, 32, 32, dtype=torch.float64)
    found = torch.autograd.grad(ours(images).square().sum(), list(ours.parameters()))
    wanted = torch.autograd.grad(plain.network(images).square().sum(), list(plain.parameters()))
    torch.testing.assert_close(found, wanted)
    for _ in range(20):  # The memory that is written past is not always in use.
        model = ResNet18(3, 5, width)
        torch.autograd.grad(model(images.float()).square().sum(), list(model.parameters()))
