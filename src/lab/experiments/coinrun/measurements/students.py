"""The number of unseen levels that the students of finished ``coinrun_bc`` runs solve.

Neither the students nor the expert have seen these levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from ilc.errors import UserError
from lab.experiments.coinrun.expert import load_expert
from lab.experiments.coinrun.levels import UNSEEN
from lab.experiments.coinrun.play import Policy, student_policy, success_on
from lab.experiments.measurement import Parts, Tables


def parts(runs: Sequence[str], levels: int = 500) -> Parts:
    """Return the parts of ``coinrun/unseen_levels.csv``: one part and one row for the expert and each run.

    Args:
        runs: folders of finished runs.
        levels: number of levels to play, one episode each.

    Raises:
        UserError: ``levels`` is below 1.
    """
    if levels < 1:
        raise UserError(f"levels must be at least 1, got {levels}")
    return {
        "expert": partial(_play_expert, levels),
        **{f"student{i}": partial(_play_student, Path(run), levels) for i, run in enumerate(runs)},
    }


def _play_expert(n_levels: int) -> Tables:
    return _played("expert", load_expert().network.distribution, n_levels)


def _play_student(run: Path, n_levels: int) -> Tables:
    return _played(str(run), student(run), n_levels)


def student(run: Path) -> Policy:
    """Return the policy with which a run ended.

    Raises:
        UserError: the folder is not that of a finished CoinRun run.
    """
    if not (run / "done").exists():
        raise UserError(
            f"{run} is not the folder of a finished run: give the run's command again to finish it"
        )
    from lab import load_run

    loaded = load_run(run)
    if loaded.config["name"] != "coinrun_bc":
        raise UserError(
            f"{run} is a run of {loaded.config['name']}, which does not play CoinRun: give the folder of a "
            "run of coinrun_bc"
        )
    return student_policy(loaded.model)


def _played(player: str, policy: Policy, n_levels: int) -> Tables:
    levels, mode = UNSEEN[:n_levels], load_expert().sheet["mode"]
    found = success_on(policy, levels, mode)
    row = {
        "player": player,
        "levels": len(levels),
        "first_level": levels.start,
        "mean_return": found.mean_return,
        "success_rate": found.success_rate,
    }
    return {"coinrun/unseen_levels.csv": pd.DataFrame([row])}
