"""Where there is no terminal, a line for each job says how many are done and how long the others take."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lab.runs.pool import jobs_progress
from lab.runs.pool.jobs_progress import JobsProgress


def test_the_time_left_is_that_of_the_jobs_of_this_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight jobs were done before, and say nothing about the time of a job."""
    moments = iter([100.0, 110.0, 120.0, 121.0])
    monkeypatch.setattr(jobs_progress, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    with JobsProgress("toy", 11, 8) as progress:
        progress.advance("best 3")
        progress.advance()
        progress.advance()
    assert capsys.readouterr().out.splitlines() == [
        "toy: 9 of 11, best 3, about 20 s left",
        "toy: 10 of 11, about 10 s left",
        "toy: 11 of 11, about 0 s left",
    ]
