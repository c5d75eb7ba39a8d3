"""The claims about schedules look at each of them, and at every evaluation of the slow ramp."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from docs.page_text import table_cells
from lab.experiments.irm.claims import slow_ramp, stability
from lab.experiments.irm.claims.stability import AT_ONCE, PLAIN_FIRST
from lab.experiments.irm.figures import irm_stability
from lab.experiments.irm.results import FOLDER, SCHEDULES

COLLAPSED = "the outputs have collapsed to a constant: ..."
ENDS = {"success": (0.75, 0.65), "collapsed": (0.5, 0.5), "plain": (0.9, 0.1), "between": (0.8, 0.4)}
N_SEEDS = 20
GOOD, PARTLY, BAD, OPEN = "in part: with ", "in part: ", "not reproduced", "undecided"


def row(schedule: str, seed: int, kind: str) -> dict[str, object]:
    """A run as the study writes it: the schedule in three keys."""
    name, rest = schedule.split()
    train, test = ENDS[kind]
    return {
        "run": f"{schedule}-{seed}",
        "seed": seed,
        "aggregator.schedule": name,
        "aggregator.ramp_power": float(rest) if name == "ramp" else 1.6,
        "aggregator.penalty_weight": 231.0 if name == "ramp" else float(rest),
        "train/accuracy": train,
        "test/accuracy": test,
        "train/loss": 0.5,
        "train/penalty": 1e-4,
        "warning": COLLAPSED if kind == "collapsed" else None,
        "data_source": "Colored MNIST",
        "stopped": "completed",
    }


def write(
    folder: Path, kinds: dict[str, str], passing: int = 0, at_the_end: int = 0, pending: int = 0
) -> None:
    """All seeds of a schedule end as its kind; so many of the slow ramp's pass once, or at the end."""
    (folder / FOLDER).mkdir()
    others: list[dict[str, object]] = [{"stopped": "pending"}] * pending
    rows = [row(name, seed, kind) for name, kind in kinds.items() for seed in range(N_SEEDS)]
    runs = pd.DataFrame(rows + others, columns=list(row("step 10", 0, "plain")))
    runs.to_csv(folder / FOLDER / "stability_runs.csv", index=False)
    curves = [
        {
            "run": run["run"],
            "seed": run["seed"],
            "epoch": epoch,
            "step": 313 * epoch,
            "train/accuracy": 0.75,
            "test/accuracy": 0.65 if passes(run, epoch, passing, at_the_end) else 0.3,
        }
        for run in rows
        for epoch in (4, 8, 12)
    ]
    pd.DataFrame(curves, columns=["run", "seed", "epoch", "step", "train/accuracy", "test/accuracy"]).to_csv(
        folder / FOLDER / "stability_curves.csv", index=False
    )


def passes(run: dict[str, object], epoch: int, passing: int, at_the_end: int) -> bool:
    """Whether a run is above the bar at an evaluation. Successes are so before the end."""
    if str(run["run"]).startswith(slow_ramp.SCHEDULE):
        return int(str(run["seed"])) < {4: 0, 8: passing, 12: at_the_end}[epoch]
    return epoch == 4 and run["train/accuracy"] == ENDS["success"][0]


LATE = {**dict.fromkeys(PLAIN_FIRST, "between"), "step 231": "success"}


@pytest.mark.parametrize(
    ("kinds", "verdict"),
    [
        ({**dict.fromkeys(AT_ONCE, "collapsed"), **LATE}, GOOD),
        # It fails at a small weight too, but does not collapse.
        ({**dict.fromkeys(AT_ONCE, "collapsed"), "constant 10": "plain", **LATE}, PARTLY),
        ({**dict.fromkeys(AT_ONCE, "collapsed"), **LATE, "ramp 8": "collapsed"}, PARTLY),
        # A single weight that works from the first step is enough to say no.
        ({**dict.fromkeys(AT_ONCE, "collapsed"), "constant 100": "success", **LATE}, BAD),
        # All early penalties fail, but otherwise than the claim says.
        ({**dict.fromkeys(AT_ONCE, "plain"), **LATE}, BAD),
        ({**dict.fromkeys(AT_ONCE, "collapsed"), **dict.fromkeys(PLAIN_FIRST, "between")}, OPEN),
    ],
)
def test_every_schedule_decides(kinds: dict[str, str], verdict: str, tmp_path: Path) -> None:
    assert {*AT_ONCE, *PLAIN_FIRST} == set(SCHEDULES)
    write(tmp_path, kinds)
    (claim,) = stability.claims(tmp_path)
    assert claim.verdict.startswith(verdict)
    assert claim.verdict.endswith("with another network")
    assert {row[0] for row in table_cells(claim.table)[1:]} == set(SCHEDULES)


@pytest.mark.parametrize(
    ("passing", "at_the_end", "verdict"),
    [
        (20, 0, GOOD),  # Stopped where the source stops, whatever the end is.
        (0, 18, GOOD),
        (12, 0, "in part: 12 of 20 seeds"),
        (5, 0, PARTLY),
        (1, 0, PARTLY),
        (0, 0, BAD),
    ],
)
def test_the_ramp_is_judged_at_every_evaluation(
    passing: int, at_the_end: int, verdict: str, tmp_path: Path
) -> None:
    write(tmp_path, {slow_ramp.SCHEDULE: "between"}, passing, at_the_end)
    (claim,) = slow_ramp.claims(tmp_path)
    assert claim.verdict.startswith(verdict)
    assert claim.verdict.endswith("with another network")
    assert f"{max(passing, at_the_end)} of 20 seeds pass at some evaluation" in claim.ours
    assert f", and {at_the_end} at the last." in claim.ours


@pytest.mark.parametrize("kinds", [{}, {"step 231": "success"}, {**LATE, **dict.fromkeys(AT_ONCE, "plain")}])
def test_no_verdict_while_runs_are_missing(kinds: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, kinds, pending=3)
    done = N_SEEDS * len(kinds)
    found = stability.claims(tmp_path) + slow_ramp.claims(tmp_path)
    assert found[0].verdict == f"pending: {done} of {done + 3} runs are done"
    assert [(claim.kind, claim.number) for claim in found] == [
        ("pending", f"{done} of {done + 3} runs"),
        ("pending", f"{done} of {done + 3} runs"),
    ]
    assert [row[0] for row in table_cells(found[0].table)[1:]] == [
        name for name in SCHEDULES if name in kinds
    ]


@pytest.mark.parametrize("kinds", [{}, {"step 231": "success"}, {**LATE, **dict.fromkeys(AT_ONCE, "plain")}])
def test_figure_and_table_show_what_is_there(kinds: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, kinds, pending=3)
    assert len(irm_stability.draw(tmp_path).axes) == max(1, len(kinds))
    table = irm_stability.tabulate(tmp_path)
    if kinds:
        assert list(table.schedule[:-1]) == [SCHEDULES[name] for name in SCHEDULES if name in kinds]
    else:
        assert list(table.columns) == ["pending"]
