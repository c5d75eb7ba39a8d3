"""The ways that are timed do the same, and the measurement of small networks has a row for each."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from torch import nn

from lab.experiments.cost import ways
from lab.experiments.cost.measurements import (
    diagnosis,
    floors,
    gradients,
    processes,
    profile,
    training_steps,
)
from lab.experiments.cost.transformer import LENGTH, Transformer
from lab.experiments.cost.workloads import WORKLOADS, Workload, batch, model_of
from lab.machine.torchvision_import import import_torchvision
from lab.models import MLP, FastResNet

# Opacus warns of its own hooks.
pytestmark = pytest.mark.filterwarnings("ignore:Full backward hook is firing")

TINY = {
    "perceptron 3 x 256": lambda: MLP(34, 2, hidden_units=8),
    "FastResNet, BatchNorm": lambda: FastResNet(3, 10, 2, "batch"),
    "FastResNet, GroupNorm": lambda: FastResNet(3, 10, 2, "group"),
    "transformer": lambda: Transformer(8, 2),
}


@pytest.mark.parametrize(
    ("name", "n_examples"),
    [("perceptron 3 x 256", 4), ("FastResNet, GroupNorm", 1), ("transformer", 1), ("perceptron 3 x 256", 1)],
)
def test_the_timed_ways_give_the_same_masked_gradient(name: str, n_examples: int) -> None:
    inputs, targets = batch(name, 6, n_examples, "cpu")
    model = TINY[name]()
    found = {}
    for way in ways.available(name, n_examples):
        if way == ways.PLAIN:
            continue
        own = ways.hooked(way, model)
        ways.WAYS[way](own, inputs, targets)
        found[way] = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    assert len(found) >= 3
    for way, theirs in found.items():
        for one, other in zip(found["vmap(grad)"], theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5, msg=way)


def test_under_batch_norm_the_exact_votes_are_alike() -> None:
    assert "vmap(grad)" not in ways.available("FastResNet, BatchNorm", 1)
    inputs, targets = batch("FastResNet, BatchNorm", 4, 1, "cpu")
    model = TINY["FastResNet, BatchNorm"]().double()
    found = {}
    for way in ("per_example_loss", "authors' loop"):
        ways.WAYS[way](model, inputs.double(), targets)
        found[way] = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    for name, one in found["authors' loop"].items():
        if one.ndim > 1:  # A bias below BatchNorm has a gradient of rounding errors.
            torch.testing.assert_close(found["per_example_loss"][name], one)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")  # Of transformers, and of vmap.
@pytest.mark.parametrize("model", ["BERT, full", "BERT, LoRA", "GPT-2, full", "GPT-2, LoRA", "ViT, LoRA"])
def test_the_ways_agree_for_models_of_transformers(model: str) -> None:
    import_torchvision()
    pytest.importorskip(
        "transformers", reason="needs the extra transformers: pip install 'ilc[transformers]'"
    )
    name = f"{model}, T = 16"
    inputs, targets = batch(name, 3, 1, "cpu")
    assert ("LoRA" in name) == (sum(p.numel() for p in ways.trained(model_of(name, "cpu"))) < 1e5)
    found = {}
    for way in ("per_example", "authors' loop", "vmap(grad)"):
        own = model_of(name, "cpu")
        ways.WAYS[way](own, inputs, targets)
        found[way] = [p.grad for p in ways.trained(own)]
    for way, theirs in found.items():
        for one, other in zip(found["authors' loop"], theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5, msg=way)


def test_a_transformer_tells_places_apart() -> None:
    model = Transformer(8, 2)
    tokens = torch.arange(LENGTH)[None]
    assert model(tokens).shape == (1, 10)
    assert not torch.equal(model(tokens), model(tokens.flip(1)))


def test_a_row_per_way_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = Workload(lambda: nn.Linear(34, 2), (34,), 2, ((2, 3), (3, 1)), ((2, 3),), 2, ("TorchJD",))
    monkeypatch.setitem(WORKLOADS, "perceptron 3 x 256", tiny)
    asked: list[tuple[Any, ...]] = []

    def in_own_process(measure: Any, *arguments: Any, **options: Any) -> tuple[float, float, float]:
        asked.append(arguments[1:5])
        return 3.0, 2.0, 1.0

    monkeypatch.setattr(gradients, "peak_in_own_process", in_own_process)
    monkeypatch.setattr(gradients, "FEW", 2)
    table = gradients.parts(device="cpu", threads=1)["perceptron_3_x_256"]()["cost/gradients.csv"]
    assert isinstance(table, pd.DataFrame)
    assert list(table.way[table.examples == 3]) == ways.available("perceptron 3 x 256", 3)
    assert list(table.way[table.examples == 1]) == ways.available("perceptron 3 x 256", 1)
    assert (table.milliseconds > 0).all()
    assert (table.times_plain[table.way == ways.PLAIN] == 1).all()
    assert (table.times_plain_with_adam > 0).all()
    # Memory where it is asked for, and of many environments what goes through them one by one.
    assert set(table.way[table.step_peak_mb.notna() & (table.examples == 1)]) == {
        "per_example_loss",
        "authors' loop",
    }
    assert table.step_peak_mb[table.examples == 3].notna().all()
    assert ("per_example_loss", 3, 1, 1) in asked


def test_the_script_writes_what_it_prints(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = str(root / "scripts" / "benchmark.py")
    command = [script, "optimizer", "--steps", "1", "--device", "cpu", "--to", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setattr("lab.configuration.searched_settings.RESULTS", tmp_path)
    runpy.run_path(script)["main"]()
    # As results/SHA256SUMS lists a committed file that is measured again.
    assert (tmp_path / "SHA256SUMS").read_text().endswith("  temporal_mask.csv\n")
    table = pd.read_csv(tmp_path / "temporal_mask.csv")
    assert table.relative[0] == 1
    assert (table.milliseconds > 0).all()
    assert "temporal_mask.csv" in capsys.readouterr().out


@pytest.mark.slow
def test_processes_send_what_the_page_says(tmp_path: Path) -> None:
    """In two: 4 bytes per component for a mean, 5 for the AND-mask, 9 for the geometric mean; DDP sends 4."""
    rows = processes.parts(steps=1)["processes_2"]()["cost/processes.csv"]
    assert isinstance(rows, pd.DataFrame)
    relative = dict(zip(rows.way, rows.times_ddp, strict=True))
    expected = {"plain (DDP)": 1, "mean": 1, "AND-mask": 1.25, "geometric mean": 2.25}
    assert relative == pytest.approx(expected, abs=1e-3)
    assert (rows.milliseconds > 0).all()


@pytest.mark.parametrize(
    ("layers", "n_examples", "expected"),
    [
        # One product per weight: the sign bits are counted 64 at a time. No gradient for the input is needed.
        ([nn.Linear(34, 2)], 1, 1 + 1 / 64 / 2),
        # Two examples are added before the vote: one operation per weight and environment.
        ([nn.Linear(34, 2)], 2, 1 + 1 / 2 / 2),
        # BatchNorm's local vote: a second backward pass, of as many products as the first.
        ([nn.Linear(34, 5), nn.BatchNorm1d(5)], 1, 1.5 + 1 / 64 / 2),
    ],
)
def test_a_floor_counts_what_a_vote_cannot_do_without(
    layers: list[nn.Module], n_examples: int, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "perceptron 3 x 256"
    tiny = Workload(lambda: nn.Sequential(*layers), (34,), 2, ((3, n_examples),), (), 1)
    monkeypatch.setitem(WORKLOADS, name, tiny)
    assert floors.floor(name, 3, n_examples) == pytest.approx(expected)


def test_a_profile_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "perceptron 3 x 256"
    monkeypatch.setitem(WORKLOADS, name, Workload(lambda: MLP(34, 2), (34,), 2, ((8, 4),), (), 1))
    table = profile.parts(steps=2)["perceptron_3_x_256"]()["cost/profile.csv"]
    assert isinstance(table, pd.DataFrame)
    shares = table[["products", "votes", "copies", "allocation", "other_operations", "python"]]
    assert shares.sum(axis=1).to_list() == pytest.approx([100, 100], abs=0.5)
    assert table.votes[0] == 0 < table.votes[1]
    assert (table.products > 0).all()


def test_a_diagnosis_is_compared_with_a_plain_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = Workload(lambda: nn.Linear(34, 2), (34,), 2, ((16, 1),), (), 1)
    monkeypatch.setitem(diagnosis.NETWORKS, "tiny", tiny)
    table = diagnosis.parts(steps=1, device="cpu")["tiny"]()["cost/diagnosis.csv"]
    assert isinstance(table, pd.DataFrame)
    sizes = list(zip(table.way, table.environments, table.examples, strict=True))
    assert sizes == [(ways.PLAIN, 1, 16), ("vectorized", 8, 2), ("per_example", 16, 1)]
    assert table.times_plain[0] == 1
    assert (table.milliseconds > 0).all()


def test_the_timed_training_steps_train(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(training_steps.SIZES, "2, tiny", (2, (3, 8, 8)))
    table = training_steps.parts(steps=1, device="cpu")["2_tiny"]()["cost/training_steps.csv"]
    assert isinstance(table, pd.DataFrame)
    assert list(table.way) == [ways.PLAIN, "threshold 0", "votes"]
    after = {}
    for way in table.way:
        training = training_steps._Training(way, 2, (3, 8, 8), "cpu")
        training.step()
        after[way] = torch.cat([p.detach().flatten() for p in training.model.parameters()])
    torch.testing.assert_close(after["threshold 0"], after[ways.PLAIN])
    assert not torch.allclose(after["votes"], after[ways.PLAIN])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--steps", "0"), "--steps must be a whole number of at least 1, got 0"),
        (("--steps", "-3"), "--steps must be a whole number of at least 1, got -3"),
        (("--to", "file"), "cannot write file/table.csv: file is a file, not a folder. Name another path"),
        (("--to", "file/x"), "cannot write file/x/table.csv: file is a file, not a folder"),
        (("--device", "cuda"), "--device cuda needs a CUDA device, but none can be used here"),
    ],
)
def test_options_are_checked_before_anything_is_measured(
    options: tuple[str, ...],
    message: str,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def measured(*arguments: object) -> None:
        raise AssertionError("measured")

    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("lab.experiments.cost.measurements.optimizer._measure", measured)
    monkeypatch.setattr(sys, "argv", ["benchmark.py", "optimizer", *options])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(root / "scripts" / "benchmark.py"), run_name="__main__")
    said = capfd.readouterr().err
    assert end.value.code == 1
    assert said.startswith(f"Error: {message}") and said.count("\n") == 1
