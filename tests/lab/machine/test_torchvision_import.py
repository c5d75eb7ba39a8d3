"""torchvision can be imported whether or not its compiled operators load."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from lab.machine.torchvision_import import _missing_operators_skipped, import_torchvision


def test_what_needs_no_operators_works() -> None:
    assert import_torchvision("torchvision.datasets").MNIST.resources
    model = import_torchvision("torchvision.models").resnet18(num_classes=3).eval()
    assert model(torch.zeros(1, 3, 32, 32)).shape == (1, 3)


def test_register_fake_is_as_before() -> None:
    before = torch.library.register_fake
    import_torchvision()
    assert torch.library.register_fake is before


@pytest.mark.slow
def test_operators_that_exist_are_registered_as_ever() -> None:
    """On a matching pair nothing is skipped: here an operator of torchvision's namespace is there."""
    code = """
import torch
from lab.machine.torchvision_import import _missing_operators_skipped
library = torch.library.Library("torchvision", "FRAGMENT")
library.define("only_in_this_test(Tensor x) -> Tensor")
with _missing_operators_skipped():
    @torch.library.register_fake("torchvision::only_in_this_test")
    def fake(x):
        return x.new_empty(7)
    @torch.library.register_fake("torchvision::does_not_exist")
    def nobody(x):
        return x
assert torch.ops.torchvision.only_in_this_test(torch.empty(1, device="meta")).shape == (7,)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_other_namespaces_keep_their_errors() -> None:
    with _missing_operators_skipped():
        try:
            torch.library.register_fake("ilc_test::missing")(lambda x: x)
        except RuntimeError as error:
            assert "does not exist" in str(error)
        else:
            raise AssertionError("an operator that does not exist was accepted")
