"""The simulator is the thesis's network."""

from __future__ import annotations

import pytest
import torch

from ilc.errors import UserError
from lab.experiments.skip_intervals.simulator import ARCHITECTURES, Simulator


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("shape", [(20, 20), (13, 10)])
def test_a_frame_comes_out_as_large_as_it_went_in(architecture: str, shape: tuple[int, int]) -> None:
    frames = torch.rand(2, 3, *shape)
    assert Simulator(architecture, 4)(frames).shape == frames.shape


def test_sizes_of_the_kernels_are_those_of_the_appendix() -> None:
    sizes = {
        name: [tuple(layer.kernel_size) for layer in Simulator(name, 4).wide]  # type: ignore[union-attr,arg-type]
        for name in ARCHITECTURES
    }
    assert sizes["simple"] == sizes["dilated"] == [(5, 5), (5, 5), (5, 5), (7, 7), (5, 5)]
    assert sizes["strided"] == [(5, 5)] * 5
    assert Simulator("simple", 4).mix.in_channels == 7


@pytest.mark.parametrize(("architecture", "reach"), [("simple", 11), ("dilated", 14)])
def test_a_pixel_reaches_as_far_as_the_kernels(architecture: str, reach: int) -> None:
    frames = torch.rand(1, 3, 41, 41, requires_grad=True)
    Simulator(architecture, 4).double()(frames.double())[0, :, 20, 20].sum().backward()
    assert frames.grad is not None
    rows = frames.grad.abs().sum((0, 1, 3)).nonzero().squeeze(1)
    assert (20 - int(rows.min()), int(rows.max()) - 20) == (reach, reach)


def test_initial_weights_are_hes() -> None:
    simulator = Simulator("simple", 64)
    spread = float(simulator.wide[1].weight.detach().std())  # type: ignore[operator,union-attr]
    assert spread == pytest.approx((2 / (64 * 25)) ** 0.5, rel=0.02)


def test_a_residual_simulator_begins_near_a_copy() -> None:
    frames = (torch.rand(2, 3, 20, 20) < 0.5).float()
    copied = Simulator("strided", 8, residual=4.0)(frames).sigmoid().round()
    assert float((copied == frames).float().mean()) > 0.95
    assert Simulator("strided", 8)(frames).sigmoid().round().ne(frames).any()


def test_what_makes_no_sense_is_refused() -> None:
    for values in (("wide", 4, 0.0), ("simple", 0, 0.0), ("simple", 4, -1.0)):
        with pytest.raises(UserError, match="simulator"):
            Simulator(*values)
