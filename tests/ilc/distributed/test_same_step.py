"""Processes that are about to make unlike steps are stopped, all of them, by one message."""

from __future__ import annotations

from pathlib import Path

import gang
import pytest
import unlike_steps


@pytest.mark.parametrize("case", unlike_steps.CASES)
def test_unlike_steps_are_refused(case: str, tmp_path: Path) -> None:
    said = gang.together(2, tmp_path / "gang", unlike_steps.refused, case)
    assert said[0] == said[1]
    what = "aggregators" if case == "threshold" else "trainable parameters"
    assert said[0].startswith(f"the {what} of rank 1 are others than those of rank 0: ")
