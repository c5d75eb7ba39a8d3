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
    what = "trainable parameters" if "layer" in case else "aggregators"
    assert said[0].startswith(f"the {what} of rank 1 differ from those of rank 0: ")


@pytest.mark.parametrize("case", ["threshold", "seed"])
def test_unlike_hooks_are_refused(case: str, tmp_path: Path) -> None:
    said = gang.together(2, tmp_path / "gang", unlike_steps.refused_by_ddp, case)
    assert said[0] == said[1]
    assert said[0].startswith("the aggregators of rank 1 differ from those of rank 0: ")
