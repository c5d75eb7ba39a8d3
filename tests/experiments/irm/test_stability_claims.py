"""The claims about schedules look at each of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ilc.experiments.irm.claims.stability import AT_ONCE, PLAIN_FIRST, claims
from ilc.experiments.irm.results import FOLDER, OWN_PACE, SCHEDULES

COLLAPSED = "the outputs have collapsed to a constant: ..."


def _row(kind: str) -> dict[str, object]:
    train, test = {
        "success": (0.75, 0.65),
        "collapsed": (0.5, 0.5),
        "plain": (0.9, 0.1),
        "between": (0.8, 0.4),
    }[kind]
    warning = COLLAPSED if kind == "collapsed" else None
    return {
        "train/accuracy": train,
        "test/accuracy": test,
        "warning": warning,
        "data_source": "colored digits",
    }


def _write(folder: Path, kinds: dict[str, list[str]]) -> None:
    """As the two studies write them: the schedule in three keys."""
    (folder / FOLDER).mkdir()
    tables: dict[str, list[dict[str, object]]] = {"stability": [], "ramp": []}
    for schedule in SCHEDULES:
        name, *rest = schedule.replace("step to 10", "step").replace(OWN_PACE, "ramp 1.6").split()
        keys = {
            "aggregator.schedule": name,
            "aggregator.ramp_power": float(rest[0]) if rest else 1.6,
            "aggregator.penalty_weight": 10 if schedule == "step to 10" else 1e4,
        }
        for seed, kind in enumerate(kinds[schedule]):
            row = {"seed": seed, **keys, **_row(kind)}
            tables["ramp" if schedule == OWN_PACE else "stability"].append(row)
    for name, rows in tables.items():
        pd.DataFrame(rows).to_csv(folder / FOLDER / f"{name}_runs.csv", index=False)


@pytest.mark.parametrize(
    ("at_once", "later", "own", "verdicts"),
    [
        (
            ["collapsed"] * 4,
            ["between"] * 4,
            ["success"] * 3 + ["plain"],
            ("reproduced", "pattern reproduced"),
        ),
        (["collapsed"] * 3 + ["plain"], ["between"] * 4, ["success"] + ["plain"] * 3, ("in part", "in part")),
        (["collapsed"] * 4, ["collapsed"] * 4, ["plain"] * 4, ("not reproduced", "not reproduced")),
    ],
)
def test_every_schedule_decides(
    at_once: list[str], later: list[str], own: list[str], verdicts: tuple[str, str], tmp_path: Path
) -> None:
    assert {*AT_ONCE, *PLAIN_FIRST} == set(SCHEDULES)
    kinds = {**dict.fromkeys(AT_ONCE, at_once), **dict.fromkeys(PLAIN_FIRST, later), OWN_PACE: own}
    _write(tmp_path, kinds)
    found = claims(tmp_path)
    assert all(claim.verdict.startswith(verdict) for claim, verdict in zip(found, verdicts, strict=True))
    assert all(f"{schedule}: " in found[0].ours for schedule in SCHEDULES)
