"""The ways that are timed do the same, and a process of its own tells its peak."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

from ilc.experiments.cost.measurements import gradients, per_example, processes
from ilc.experiments.cost.step_cost import peak_in_own_process
from ilc.models import MLP, FastResNet


def test_the_timed_ways_give_the_same_masked_gradient() -> None:
    inputs, targets = gradients.batch(8, 16)
    found = {}
    model = MLP(34, 2, hidden_units=8)
    for name in ("vectorized", "sequential", "plain loop"):
        gradients.WAYS[name](model, inputs, targets)
        found[name] = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    for name in ("sequential", "plain loop"):
        for one, other in zip(found["vectorized"], found[name], strict=True):
            torch.testing.assert_close(one, other)


def test_the_timed_votes_are_alike_without_batch_norm() -> None:
    model = FastResNet(3, 10, 2, "group")
    inputs, targets = torch.randn(6, 3, 32, 32), torch.randint(0, 10, (6,))
    found = {}
    for name in ("example_share", "example_loss", "authors' loop", "vmap(grad)"):
        per_example.WAYS[name][1](model, inputs, targets)
        found[name] = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    for name in list(found)[1:]:
        for one, other in zip(found["example_share"], found[name], strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_a_fresh_process_tells_its_peak() -> None:
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("needs /proc, as on Linux")
    process, beyond, milliseconds = peak_in_own_process(gradients.print_peak_of, "sequential", 4)
    assert process > beyond >= 0
    assert milliseconds > 0


def test_the_script_writes_what_it_prints(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = str(root / "scripts" / "benchmark.py")
    monkeypatch.setattr(sys, "argv", [script, "optimizer", "--steps", "1", "--to", str(tmp_path)])
    runpy.run_path(script)["main"]()
    table = pd.read_csv(tmp_path / "temporal_mask.csv")
    assert table.relative[0] == 1
    assert (table.milliseconds > 0).all()
    assert "temporal_mask.csv" in capsys.readouterr().out


def test_processes_send_what_the_page_says(tmp_path: Path) -> None:
    """In two: 4 bytes per component for a mean, 5 for the AND-mask, 9 for the geometric mean; DDP sends 4."""
    rows = processes.parts(steps=1)["processes_2"]()["benchmark/processes.csv"]
    assert isinstance(rows, pd.DataFrame)
    relative = dict(zip(rows.way, rows.times_ddp, strict=True))
    expected = {"plain (DDP)": 1, "mean": 1, "AND-mask": 1.25, "geometric mean": 2.25}
    assert relative == pytest.approx(expected, abs=1e-3)
    assert (rows.milliseconds > 0).all()
