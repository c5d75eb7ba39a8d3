"""``make figures`` draws everything from committed files and cannot train."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ilc.figures import FIGURES, TABLES

# Runs the script in a process in which every way of training is broken and no socket opens.
WITHOUT_TRAINING = """
import runpy, socket, sys
import torch
def refuse(*arguments, **options):
    raise AssertionError("make figures must neither train nor use the network")
torch.Tensor.backward = torch.autograd.grad = torch.autograd.backward = refuse
torch.optim.Optimizer.__init__ = refuse
socket.socket.connect = refuse
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    results = tmp_path_factory.mktemp("figures") / "results"
    shutil.copytree(root / "results", results, ignore=shutil.ignore_patterns("*.png", "*.md"))
    command = [sys.executable, "-c", WITHOUT_TRAINING, str(root / "scripts" / "make_figures.py")]
    subprocess.run([*command, "--results", str(results)], check=True, capture_output=True, timeout=120)
    return results


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_and_committed(name: str, drawn: Path, root: Path) -> None:
    assert (drawn / "figures" / f"{name}.png").stat().st_size > 5_000
    assert (root / "results" / "figures" / f"{name}.png").exists()


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in TABLES] or ["none yet"])
def test_every_table_is_current(name: str, drawn: Path, root: Path) -> None:
    """A committed table is the one that the committed CSV files give."""
    if name in TABLES:
        committed = root / "results" / "tables" / f"{name}.md"
        assert (drawn / "tables" / f"{name}.md").read_text() == committed.read_text()


def test_an_unknown_name_is_a_readable_error(root: Path) -> None:
    command = [sys.executable, str(root / "scripts" / "make_figures.py"), "figure99"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Error: no figure or table is called 'figure99'" in done.stderr, done.stderr
