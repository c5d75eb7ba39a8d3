"""The best configurations of two searches on new seeds, which decide the comparison of section 3.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lab.data import Split
from lab.experiments.coinrun.expert import load_expert
from lab.experiments.coinrun.levels import CLONING_TEST, UNSEEN
from lab.experiments.coinrun.play import Policy, random_policy, student_policy, success_on
from lab.experiments.measurement import Parts, Tables, trained
from lab.runs.search.tuned import with_rank

STATES_AT_ONCE = 500
RUNS = "coinrun/finalists.csv"
"""The table with a row per budget, method, rank, seed and evaluation; a run's last row has its time."""
LEVELS = "coinrun/finalists_levels.csv"
"""The table with a row per budget, method, seed and test level: the mean final divergence over the ranks."""
PLAY = "coinrun/finalists_play.csv"
"""The table with a row per player. The players are random play, the expert, and for each budget, method and
seed the student of the best configuration."""


def parts(
    methods: Mapping[str, Sequence[str]],
    seeds: Mapping[int, int],
    finalists: int = 10,
    evaluations: int = 4,
    levels: int = 300,
) -> Parts:
    """Return the parts of ``coinrun/finalists*.csv``.

    There is a part per budget, seed and method, and one part for random play and the expert.

    Args:
        methods: for each method, the search in ``results/coinrun/search/`` whose best configurations are
            trained, and settings that replace theirs.
        seeds: number of seeds, from 0, by budget in epochs. A budget is a multiple of ``evaluations``, and
            learning rates drop within it.
        finalists: number of configurations of each method.
        evaluations: number of evaluations of a run, equally far apart.
        levels: number of levels to play once each, which no student and no expert has seen.
    """
    return {
        "others": partial(_play_others, levels),
        **{
            f"{method}-epochs{budget}-seed{seed}": partial(
                _train,
                {"method": method, "epochs": budget, "seed": seed},
                search,
                [*settings, f"trainer.evaluate_every={budget // evaluations}"],
                finalists,
                levels,
            )
            for budget, n_seeds in seeds.items()
            for seed in range(n_seeds)
            for method, (search, *settings) in methods.items()
        },
    }


def _play_others(levels: int) -> Tables:
    expert = load_expert()
    rows = [
        _played("random play", random_policy, levels),
        _played("expert", expert.network.distribution, levels),
    ]
    return {PLAY: pd.DataFrame(rows)}


def _train(of: dict[str, Any], search: str, settings: Sequence[str], finalists: int, levels: int) -> Tables:
    asked = [*settings, f"trainer.max_epochs={of['epochs']}", f"seed={of['seed']}"]
    rows, by_level, play = [], [], []
    for rank in range(1, finalists + 1):
        tuned = f"searched/{with_rank(search, rank)}"
        run = trained(["experiment=coinrun_bc", f"tuned={tuned}", *asked])
        known = {**of, "rank": rank}
        for metrics in run.metrics:
            risks = {name: value for name, value in metrics.items() if name.endswith("/kl")}
            rows.append({**known, "epoch": metrics["epoch"], **risks, "data_source": run.data.source})
        assert run.summary is not None
        rows[-1]["wall_seconds"] = run.summary["wall_seconds"]
        by_level.append(divergences(run.model, run.data.evaluation["test"]))
        if rank == 1:
            play.append({**known, **_played("student", student_policy(run.model), levels)})
    table = pd.DataFrame(
        {
            **of,
            "level": CLONING_TEST[: len(by_level[0])],
            "test/kl": torch.stack(by_level).mean(dim=0).numpy(),
        }
    )
    return {RUNS: pd.DataFrame(rows), LEVELS: table, PLAY: pd.DataFrame(play)}


def _played(player: str, policy: Policy, levels: int) -> dict[str, str | int | float]:
    found = success_on(policy, UNSEEN[:levels], load_expert().sheet["mode"])
    return {"player": player, "levels": levels, **found._asdict()}


@torch.no_grad()
def divergences(student: nn.Module, states: Split) -> Tensor:
    """Return KL(expert || student) in nats at every state, ``[N]``."""
    found = []
    parts = (torch.split(values, STATES_AT_ONCE) for values in (states.inputs, states.targets))
    for frames, expert in zip(*parts, strict=True):
        log_student = student(frames).log_softmax(dim=1)
        found.append(F.kl_div(log_student, expert, reduction="none").sum(dim=1))
    return torch.cat(found)
