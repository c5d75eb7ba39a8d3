"""The comparison's rows: one per run, and one per level, averaged over the configurations."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from ilc.objectives._risks import kl_divergence
from lab.data import Split
from lab.experiments.coinrun.levels import CLONING_TEST
from lab.experiments.coinrun.measurements import finalists

N = 7


class Constant(nn.Module):
    """A student that prefers one action, wherever it is."""

    def __init__(self, action: int) -> None:
        super().__init__()
        self.logits = torch.zeros(15).index_fill(0, torch.tensor(action), 2.0)

    def forward(self, frames: Tensor) -> Tensor:
        return self.logits.expand(len(frames), -1)


@pytest.fixture
def states() -> Split:
    random = torch.Generator().manual_seed(0)
    return Split(
        torch.zeros(N, 3, 64, 64, dtype=torch.uint8), torch.rand(N, 15, generator=random).softmax(dim=1)
    )


def test_divergences_are_those_of_the_risk(states: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finalists, "STATES_AT_ONCE", 3)  # The last part is a smaller one.
    student = Constant(4)
    each = finalists.divergences(student, states)
    assert each.shape == (N,)
    torch.testing.assert_close(each.mean(), kl_divergence(student(states.inputs), states.targets))
    torch.testing.assert_close(each[2], kl_divergence(student(states.inputs[2:3]), states.targets[2:3]))


@pytest.mark.slow
def test_rows(states: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def train(overrides: Sequence[str]) -> Any:
        asked.append(tuple(overrides))
        metrics = [
            {"epoch": epoch, "train/kl": 0.1, "validation/kl": 0.2, "test/kl": 0.3 / epoch}
            for epoch in (1, 2)
        ]
        data = SimpleNamespace(evaluation={"test": states}, source="none")
        summary = {"wall_seconds": 10.0 * len(asked)}
        return SimpleNamespace(model=Constant(len(asked)), metrics=metrics, data=data, summary=summary)

    monkeypatch.setattr(finalists, "trained", train)
    methods = {"adam": ["coinrun/adam"], "unmasked": ["coinrun/temporal_mask", "settings=others"]}
    parts = finalists.parts(methods, seeds={2: 2, 4: 3}, finalists=2, evaluations=2, levels=5)
    assert len(parts) == 11
    tables = parts["unmasked-epochs4-seed2"]()
    assert asked == [
        (
            "experiment=coinrun_bc",
            f"tuned=searched/coinrun/temporal_mask{rank}",
            "settings=others",
            "trainer.evaluate_every=2",
            "trainer.max_epochs=4",
            "seed=2",
        )
        for rank in ("", "_2")
    ]
    runs, levels, play = tables[finalists.RUNS], tables[finalists.LEVELS], tables[finalists.PLAY]
    assert isinstance(runs, pd.DataFrame)
    assert isinstance(levels, pd.DataFrame)
    assert isinstance(play, pd.DataFrame)
    assert list(runs["rank"]) == [1, 1, 2, 2]
    for table in (runs, levels, play):
        assert set(zip(table.method, table.epochs, table.seed, strict=True)) == {("unmasked", 4, 2)}
    assert runs.wall_seconds.sum() == 30
    assert list(runs["test/kl"]) == [0.3, 0.15, 0.3, 0.15]
    both = [finalists.divergences(Constant(action), states) for action in (1, 2)]
    torch.testing.assert_close(torch.tensor(levels["test/kl"].to_numpy()), torch.stack(both).mean(dim=0))
    assert list(levels.level) == list(CLONING_TEST[:N])
    (player,) = play.to_dict("records")
    assert player["rank"] == 1
    assert player["success_rate"] == player["mean_return"] / 10
    others = parts["others"]()[finalists.PLAY]
    assert isinstance(others, pd.DataFrame)
    assert list(others.player) == ["random play", "expert"]
