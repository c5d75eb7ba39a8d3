"""A forward hook may change what a layer computed, also by a gain that is 1 when votes are first checked."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, environment_gradients

D, C, N = 5, 3, 6


class Gained(nn.Module):
    """A gain is multiplied onto the output of a part by a hook, as IA3 and LayerScale may do."""

    def __init__(self, part: str, norm: nn.Module) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(D, 7), norm, nn.Linear(7, C)
        self.gain = nn.Parameter(torch.ones(C if part == "last" else 7))
        layer: nn.Module = getattr(self, part)
        layer.register_forward_hook(self._multiply)

    def _multiply(self, layer: nn.Module, arguments: Any, output: Tensor) -> Tensor:
        return output * self.gain

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.norm(self.first(x)).tanh())
        return result


@pytest.mark.parametrize("part", ["first", "norm", "last"])
@pytest.mark.parametrize("norm", [nn.Identity, lambda: nn.LayerNorm(7), lambda: nn.BatchNorm1d(7)])
@pytest.mark.parametrize("way", PER_EXAMPLE)
def test_votes_are_right_or_refused_when_the_gain_has_moved(way: str, norm: Any, part: str) -> None:
    torch.manual_seed(0)
    model = Gained(part, norm()).double()
    x, y = torch.randn(N, 1, D).double(), torch.randint(0, C, (N, 1))
    try:
        environment_gradients(model, F.cross_entropy, x, y, AndMask(0.5), way)
        with torch.no_grad():
            model.gain.copy_(torch.randn_like(model.gain))
        found = environment_gradients(model, F.cross_entropy, x, y, AndMask(0.5), way)
    except UserError:
        assert isinstance(model.norm, nn.BatchNorm1d) and way == "per_example"
        return
    outputs = model(x.flatten(0, 1))
    rows = [
        torch.autograd.grad(
            F.cross_entropy(outputs[i : i + 1], y[i]), list(model.parameters()), retain_graph=True
        )
        for i in range(N)
    ]
    for (name, one), *each in zip(found.statistics.items(), *rows, strict=True):
        torch.testing.assert_close(one.total, torch.stack(each).sum(0))
        if not isinstance(model.norm, nn.BatchNorm1d):  # There the votes of the ways differ.
            clear = torch.stack(each).abs().min(0).values > 1e-9
            assert torch.equal(one.sign_sum[clear], torch.stack(each).sign().sum(0)[clear]), name
