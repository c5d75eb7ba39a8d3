"""The notebooks run from top to bottom, at a small size."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "sizes_begin", "small_sizes", "n_pictures"),
    [
        ("irm_linear", "N = ", "N, STEPS = 2_000, 400", 4),
        ("spirals", "ENVIRONMENTS, EXAMPLES, EPOCHS = ", "ENVIRONMENTS, EXAMPLES, EPOCHS = 4, 64, 2", 4),
        ("coinrun", "LEVELS, STATES, TEST = ", "LEVELS, STATES, TEST, EPOCHS = 4, 12, 20, 2", 3),
        ("distillation", "EXAMPLES, META_STEPS, INNER = ", "EXAMPLES, META_STEPS, INNER = 64, 2, 4", 2),
        ("skip_intervals", "TRAJECTORIES, STEPS, HORIZON = ", "TRAJECTORIES, STEPS, HORIZON = 40, 8, 8", 3),
    ],
)
def test_notebook_runs(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    sizes_begin: str,
    small_sizes: str,
    n_pictures: int,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(root / "src"))
    notebook = nbformat.read(root / "notebooks" / f"{name}.ipynb", as_version=4)
    sizes = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert sizes.source.startswith(sizes_begin), "the first code cell sets the sizes"
    sizes.source = small_sizes
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    pictures = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == n_pictures


@pytest.mark.parametrize("name", ["irm_linear", "spirals", "coinrun", "distillation", "skip_intervals"])
def test_outputs_are_committed(root: Path, name: str) -> None:
    """Who only reads it sees the pictures."""
    notebook = nbformat.read(root / "notebooks" / f"{name}.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
