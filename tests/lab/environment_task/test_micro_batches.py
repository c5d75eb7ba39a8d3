"""Methods that compare the gradients of parts of a batch: median and gradient agreement filtering."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ilc._processes import ONE_PROCESS
from ilc.errors import UserError
from lab.environment_task import TrainingMethod
from lab.environment_task.methods import GradientAgreementFiltering, MicroBatchMedian
from lab.machine.stop_signals import STOPPED, Stopped
from lab.runs.one_run import run_directory

TrainCommand = Callable[..., "subprocess.CompletedProcess[str]"]


def gradients(k: int, p: int = 30, seed: int = 0) -> Tensor:
    return torch.randn(k, p, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_median_against_the_standard_librarys(k: int) -> None:
    rows = gradients(k)
    update, share = MicroBatchMedian(k).combine(rows)
    assert update.tolist() == pytest.approx([median(column) for column in rows.T.tolist()])
    assert share == 1


def agreement_by_hand(rows: list[list[float]], tau: float) -> tuple[list[float] | None, int]:
    """Plain Python: the update, and how many gradients are in it."""
    mine, n = rows[0], 1
    for row in rows[1:]:
        dot = sum(a * b for a, b in zip(mine, row, strict=True))
        norms = (sum(a * a for a in mine) * sum(b * b for b in row)) ** 0.5
        if 1 - dot / norms <= tau:
            mine, n = [(a + b) / 2 for a, b in zip(mine, row, strict=True)], n + 1
    return (mine, n) if n > 1 else (None, 0)


@pytest.mark.parametrize("tau", [0.0, 0.9, 1.0, 1.1, 2.0])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_agreement_against_plain_python(tau: float, k: int) -> None:
    outcomes = set()
    for seed in range(10):
        rows = gradients(k, p=8, seed=seed)
        update, share = GradientAgreementFiltering(k, tau).combine(rows)
        expected, n = agreement_by_hand(rows.tolist(), tau)
        assert share == n / k
        outcomes.add(share)
        assert (None if update is None else update.tolist()) == (
            None if expected is None else pytest.approx(expected)
        )
    if tau == 1.0:
        assert len(outcomes) > 1  # Else one of the branches was never taken.


@pytest.mark.parametrize(("tau", "other"), [(0.0, [2.0, 0.0]), (1.0, [0.0, 3.0]), (2.0, [-1.0, 0.0])])
def test_a_gradient_at_the_largest_distance_agrees(tau: float, other: list[float]) -> None:
    update, share = GradientAgreementFiltering(2, tau).combine(torch.tensor([[4.0, 0.0], other]))
    assert share == 1
    assert update is not None
    assert update.tolist() == [(4 + other[0]) / 2, other[1] / 2]


@pytest.mark.parametrize("method", [MicroBatchMedian(3), GradientAgreementFiltering(3)])
def test_a_broken_gradient_stays_visible(method: MicroBatchMedian | GradientAgreementFiltering) -> None:
    rows = gradients(3)
    rows[1, 4] = torch.nan
    update, _ = method.combine(rows)
    assert update is not None
    assert update[4].isnan()


def filled(method: TrainingMethod, model: nn.Module, n: int) -> list[Tensor | None]:
    inputs, targets = torch.randn(n, 1, 5), torch.randint(3, (n, 1))
    result = method.backward(ONE_PROCESS, model, functional.cross_entropy, inputs, targets, "sequential")
    assert len(result.risks) == 3
    return [p.grad for p in model.parameters()]


def test_median_of_a_networks_gradients() -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))
    inputs, targets = torch.randn(11, 1, 5), torch.randint(3, (11, 1))
    MicroBatchMedian(3).backward(ONE_PROCESS, model, functional.cross_entropy, inputs, targets, "sequential")
    found = [p.grad for p in model.parameters()]
    each = []
    for rows in (slice(0, 4), slice(4, 8), slice(8, 11)):
        risk = functional.cross_entropy(model(inputs[rows, 0]), targets[rows, 0])
        each.append(torch.autograd.grad(risk, list(model.parameters())))
    for got, three in zip(found, zip(*each, strict=True), strict=True):
        torch.testing.assert_close(got, torch.stack(three).median(0).values)


def test_no_agreement_is_no_step() -> None:
    model = nn.Linear(5, 3)
    assert all(grad is None for grad in filled(GradientAgreementFiltering(3, 0.0), model, 12))
    assert all(grad is not None for grad in filled(GradientAgreementFiltering(3, 2.0), model, 12))


SMALL = (
    "experiment=cifar_random_labels",
    "dataset.source=embedded",
    "dataset.n_environments=96",
    "dataset.n_test=10",
    "dataset.batch_size=24",
    "model.width=2",
    "trainer.max_epochs=4",
    "trainer.evaluate_every=1",
    "logger=none",
    "device=cpu",
)


def metrics_of(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("options", [("micro_batch_median",), ("gradient_agreement", "0.9")])
def test_an_interrupted_run_ends_with_the_same_numbers(
    train: TrainCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    tau = [f"aggregator.max_cosine_distance={value}" for value in options[1:]]
    command = (*SMALL, f"aggregator={options[0]}", *tau)
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    done = train(*command, f"hydra.run.dir={whole}")
    assert done.returncode == 0, done.stderr
    save = run_directory.RunDirectory.save_checkpoint

    def save_then_stop(
        self: run_directory.RunDirectory, state: dict[str, object], data: dict[str, str]
    ) -> None:
        save(self, state, data)
        if state["epoch"] == 2:
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(run_directory.RunDirectory, "save_checkpoint", save_then_stop)
        assert train(*command, f"hydra.run.dir={halved}").returncode == STOPPED
    assert train(*command, f"hydra.run.dir={halved}").returncode == 0
    assert metrics_of(halved) == metrics_of(whole)
    shares = [row["mask/density"] for row in metrics_of(whole)]
    assert all(0 <= share <= 1 for share in shares)
    assert len({row["train/loss"] for row in metrics_of(whole)}) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["aggregator=micro_batch_median", "gradients=per_example"], "gradients=sequential"),
        (["aggregator=micro_batch_median", "aggregator.n_micro_batches=1"], "at least 2, got 1"),
        (["aggregator=micro_batch_median", "aggregator.n_micro_batches=25"], "into 25 parts"),
        (["aggregator=gradient_agreement", "aggregator.max_cosine_distance=3"], "must lie in [0, 2], got 3"),
        (["aggregator=gradient_agreement", "+dataset.batches=one_environment"], "no dataset.batches"),
    ],
)
def test_what_makes_no_sense_is_said(
    options: list[str], message: str, train: TrainCommand, tmp_path: Path
) -> None:
    done = train(*SMALL, *options, f"hydra.run.dir={tmp_path / 'run'}")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_too_few_parts() -> None:
    with pytest.raises(UserError, match=r"whole number of at least 2, got 2\.5"):
        MicroBatchMedian(2.5)  # type: ignore[arg-type]
