"""Every experiment, killed ten times at random moments (SIGKILL), ends with the same numbers, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXPERIMENTS = {
    "spirals": (
        "dataset.n_environments=4",
        "dataset.examples_per_environment=64",
        "dataset.batch_size=8",
        "dataset.n_test=50",
        "model.hidden_units=16",
        "model.dropout=0.3",
        "trainer.max_epochs=25",
        "trainer.stop_when_memorised=false",
        "aggregator.agreement_threshold=0.2",
    ),
    "linear_sem": ("trainer.max_epochs=40", "trainer.evaluate_every=4", "dataset.batch_size=2500"),
    "colored_mnist": (
        "dataset.source=digits",
        "dataset.examples_per_environment=200",
        "dataset.batch_size=50",
        "model.hidden_units=8",
        "trainer.max_epochs=30",
        "trainer.evaluate_every=2",
    ),
    "cifar_random_labels": (
        "dataset.source=embedded",
        "dataset.n_environments=160",
        "dataset.batch_size=40",
        "dataset.n_test=20",
        "model.width=2",
        "trainer.max_epochs=12",
        "trainer.evaluate_every=1",
    ),
    "cifar_label_noise": (
        "dataset.source=embedded",
        "dataset.n_environments=160",
        "dataset.batch_size=40",
        "dataset.n_test=20",
        "model.width=2",
        "trainer.max_epochs=12",
        "trainer.evaluate_every=1",
    ),
    "coinrun_bc": (
        "dataset.n_environments=4",
        "dataset.examples_per_environment=8",
        "dataset.batch_size=4",
        "dataset.n_test=8",
        "model.width=2",
        "trainer.max_epochs=12",
        "trainer.evaluation_examples=8",
    ),
    "theory": ("problem=authors_regression", "n_seeds=1", "trainer.max_epochs=50"),
    "distillation": (
        "dataset.n_train=[16,24]",
        "dataset.dimensions=6",
        "dataset.n_test=10",
        "dataset.teacher_units=[8]",
        "n_seeds=2",
        "batch_size=4",
        "student_steps=3",
        "teaching.n_inner=3",
        "trainer.max_epochs=40",
        "trainer.evaluate_every=2",
    ),
}


@pytest.mark.parametrize("experiment", [pytest.param(name, marks=pytest.mark.slow) for name in EXPERIMENTS])
def test_killed_ten_times(experiment: str, tmp_path: Path) -> None:
    script = Path(__file__).with_name("kill_a_run.py")
    overrides = [f"experiment={experiment}", *EXPERIMENTS[experiment], f"data_dir={tmp_path / 'data'}"]
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), *overrides],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert f"{experiment}: 10 kills in" in done.stdout
