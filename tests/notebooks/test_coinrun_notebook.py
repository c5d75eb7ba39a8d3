"""The notebook runs from top to bottom, at a small size."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_notebook_runs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(root / "src"))
    notebook = nbformat.read(root / "notebooks" / "coinrun.ipynb", as_version=4)
    sizes = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert sizes.source.startswith("LEVELS, STATES, TEST = "), "the first code cell sets the sizes"
    sizes.source = "LEVELS, STATES, TEST, EPOCHS = 4, 12, 20, 2"
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    pictures = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == 3


def test_outputs_are_committed(root: Path) -> None:
    """Who only reads it sees the pictures."""
    notebook = nbformat.read(root / "notebooks" / "coinrun.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
