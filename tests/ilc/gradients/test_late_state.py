"""State that starts in a later step, as after a warm-up: refused in that step, without a false alarm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import AndMask
from ilc.errors import UserError
from ilc.gradients import backward
from ilc.gradients._trials import late_changes
from ilc.gradients._trials.late_changes import PlainAttributes

E, N, D = 3, 4, 5


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    inputs = torch.randn(E, N, D, generator=generator) + torch.arange(E).view(E, 1, 1)
    return inputs, torch.randint(0, 2, (E, N), generator=generator)


class WarmedUp(nn.Module):
    """A layer with a rule that is followed when a buffer has counted some passes."""

    steps: Tensor

    def __init__(self, rule: Callable[[Any, Tensor], Tensor], **attributes: Any) -> None:
        super().__init__()
        self.layer, self.rule = nn.Linear(D, 2), rule
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layer(x)
        self.steps += 1
        return self.rule(self, outputs) if self.steps > 2 else outputs


def centred(self: Any, y: Tensor) -> Tensor:
    centre, self.centre = self.centre, 0.5 * self.centre + 0.5 * y.detach().mean(0)
    return (y - centre).tanh()


def centred_in_place(self: Any, y: Tensor) -> Tensor:
    centre = self.centre.clone()
    self.centre.mul_(0.5).add_(0.5 * y.detach().mean(0))
    return (y - centre).tanh()


def centred_in_a_dictionary(self: Any, y: Tensor) -> Tensor:
    centre, self.kept["centre"] = self.kept["centre"], y.detach().mean(0)
    return (y - centre).tanh()


def counting(self: Any, y: Tensor) -> Tensor:
    self.calls += 1
    return y * self.calls


def accumulating(self: Any, y: Tensor) -> Tensor:
    """Nobody reads the sum yet, but a later pass may."""
    self.sums = self.sums + y.detach().mean(0)
    return y


def kept() -> dict[str, Tensor]:
    return {"centre": torch.zeros(2)}


LATE: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "a centre": (lambda: WarmedUp(centred, centre=torch.zeros(2)), r"model\.centre,"),
    "a centre in place": (lambda: WarmedUp(centred_in_place, centre=torch.zeros(2)), r"model\.centre,"),
    "a dictionary": (lambda: WarmedUp(centred_in_a_dictionary, kept=kept()), r"model\.kept\['centre'\],"),
    "a counter": (lambda: WarmedUp(counting, calls=1), r"model\.calls,"),
    "a sum that nobody reads": (lambda: WarmedUp(accumulating, sums=torch.zeros(2)), r"model\.sums,"),
    "a layer within": (lambda: nn.Sequential(WarmedUp(centred, centre=torch.zeros(2))), r"model\.0\.centre,"),
}


@pytest.mark.parametrize("what", LATE)
def test_state_that_starts_after_a_warm_up_is_refused_in_that_step(what: str) -> None:
    make, name = LATE[what]
    model = make()
    for _ in range(2):
        backward(model, F.cross_entropy, *batch(), AndMask(0.5), "sequential")
    model.zero_grad()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    look = PlainAttributes(model)
    with pytest.raises(UserError, match=f"changes {name}"):
        backward(model, F.cross_entropy, *batch(), AndMask(0.5), "sequential")
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert "in place" in what or not look.changed()


def test_vectorized_sees_it_where_a_global_switch_starts_it() -> None:
    switch = [False]

    class Switched(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.centre = nn.Linear(D, 2), torch.zeros(2)

        def forward(self, x: Tensor) -> Tensor:
            y: Tensor = self.layer(x)
            return centred(self, y) if switch[0] else y

    model = Switched()
    backward(model, F.cross_entropy, *batch(), AndMask(0.5), "vectorized")
    switch[0] = True
    with pytest.raises(UserError, match=r"changes model\.centre"):
        backward(model, F.cross_entropy, *batch(), AndMask(0.5), "vectorized")
    assert model.centre.tolist() == [0, 0]


def keeping_features(self: Any, y: Tensor) -> Tensor:
    self.features = y.detach()
    return y


def with_a_table(self: Any, y: Tensor) -> Tensor:
    if self.table is None or len(self.table) < len(y):
        self.table = torch.arange(float(len(y)))
    return y + self.table[: len(y), None]


def measured(self: Any, y: Tensor) -> Tensor:
    self.size = float(y.detach().mean())
    return y


HARMLESS: dict[str, Callable[[], nn.Module]] = {
    "features": lambda: WarmedUp(keeping_features, features=None),
    "a table that grows": lambda: WarmedUp(with_a_table, table=None),
    "a number": lambda: WarmedUp(measured, size=0.0),
}


@pytest.mark.parametrize("what", HARMLESS)
@pytest.mark.parametrize("sizes", [(4, 4, 4), (4, 3, 2)])
def test_late_changes_that_no_pass_reads_are_no_harm(what: str, sizes: tuple[int, ...]) -> None:
    model = HARMLESS[what]()
    xs, ys = ([one[:n] for one, n in zip(values, sizes, strict=True)] for values in batch())
    for _ in range(5):
        result = backward(model, F.cross_entropy, xs, ys, AndMask(0.5), "sequential")
        expected = [F.cross_entropy(model(x), y) for x, y in zip(xs, ys, strict=True)]
        torch.testing.assert_close(result.risks, torch.stack(expected).detach())
        with torch.no_grad():
            model.steps -= E  # The passes of this comparison are not counted.


def test_a_list_that_another_thread_fills_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    layer: Any = nn.Linear(1, 1)
    layer.queue = [1]
    look = PlainAttributes(layer)
    # Whoever runs these tests may have threads, so their number is set here.
    monkeypatch.setattr(late_changes, "active_count", lambda: 2)
    layer.queue.append(2)
    assert not look.changed()
    look.restore()
    assert layer.queue == [1, 2]
    monkeypatch.setattr(late_changes, "active_count", lambda: 1)
    assert look.changed()
    look.restore()
    assert layer.queue == [1]
