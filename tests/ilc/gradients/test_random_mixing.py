"""Examples that mix in some passes only, as random numbers decide."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib.util import find_spec

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask
from ilc.errors import UserError
from ilc.gradients import environment_gradients

D, C, N = 5, 3, 6


class SometimesMixed(nn.Module):
    """Centres its examples, or drops its hidden layer, when a random number says so."""

    def __init__(self, draw: Callable[[], bool], centres: bool = True) -> None:
        super().__init__()
        self.first, self.last, self.draw, self.centres = nn.Linear(D, 7), nn.Linear(7, C), draw, centres

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x).tanh()
        if self.draw():
            hidden = hidden - hidden.mean(0) if self.centres else hidden.sin()
        result: Tensor = self.last(hidden)
        return result


def from_numpy() -> bool:
    import numpy as np

    return bool(np.random.random() < 0.3)  # noqa: NPY002


DRAWS: dict[str, Callable[[], bool]] = {
    "Python's": lambda: random.random() < 0.5,
    "PyTorch's": lambda: bool(torch.rand(()) > 0.9),  # None of the seeds of the trials says so.
    "NumPy's": from_numpy,
}


def until(stops: Callable[[], bool]) -> int:
    """The first seed for which a draw says so."""

    def says_so(seed: int) -> bool:
        seed_all(seed)
        return stops()

    return next(seed for seed in range(7, 100) if says_so(seed))


HAS_NUMPY = find_spec("numpy") is not None  # The library needs torch alone.
KINDS = [
    "Python's",
    "PyTorch's",
    pytest.param("NumPy's", marks=pytest.mark.skipif(not HAS_NUMPY, reason="numpy")),
]


def seed_all(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    if HAS_NUMPY:
        import numpy as np

        np.random.seed(seed)  # noqa: NPY002


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
def test_a_pass_that_mixes_is_refused(way: str, kind: str, first: bool) -> None:
    """Such a pass may be the first one or a later one."""
    torch.manual_seed(0)
    draw = DRAWS[kind]
    model = SometimesMixed(draw)
    x, y = torch.randn(N, 1, D), torch.randint(0, C, (N, 1))
    seeds = [until(draw)] if first else [until(lambda: not draw()), until(draw)]
    with pytest.raises(UserError, match="gradients='per_example_loss'"):
        for seed in seeds:
            seed_all(seed)
            environment_gradients(model, F.cross_entropy, x, y, AndMask(0.5), way)
    # The remedy that the message names works, with the same model and the same draw.
    seed_all(seeds[-1])
    environment_gradients(model, F.cross_entropy, x, y, AndMask(0.5), "per_example_loss")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["per_example", "per_example_share"])
def test_other_branches_are_right(way: str, kind: str) -> None:
    torch.manual_seed(0)
    draw = DRAWS[kind]
    model = SometimesMixed(draw, centres=False).double()
    x, y = torch.randn(N, 1, D).double(), torch.randint(0, C, (N, 1))
    for seed in (until(lambda: not draw()), until(draw)):
        seed_all(seed)
        found = environment_gradients(model, F.cross_entropy, x, y, AndMask(0.5), way)
        seed_all(seed)
        outputs = model(x.flatten(0, 1))
        (row,) = torch.autograd.grad(
            F.cross_entropy(outputs, y.flatten(), reduction="sum"), model.first.weight
        )
        torch.testing.assert_close(found.statistics["first.weight"].total, row)
