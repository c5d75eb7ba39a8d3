"""The best configurations of two searches on new seeds: what counts in the comparison of section 3.3."""

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
"""A row per budget, method, rank, seed and evaluation; a run's last one has its time."""
LEVELS = "coinrun/finalists_levels.csv"
"""A row per budget, method, seed and test level: the divergence at the end, averaged over the ranks."""
PLAY = "coinrun/finalists_play.csv"
"""A row per player: random play, the expert, per budget, method and seed the best configuration's student."""


def parts(
    methods: Mapping[str, Sequence[str]],
    epochs: Sequence[int],
    finalists: int = 10,
    seeds: int = 5,
    evaluations: int = 4,
    levels: int = 300,
) -> Parts:
    """``coinrun/finalists*.csv``: a part per budget, seed and method, one of random play and the expert.

    Args:
        methods: of each the search whose best configurations in ``results/coinrun/search/`` it trains, and
            settings that it has instead of theirs.
        epochs: budgets, for each of which all runs are made, their rate drops within; multiples of
            ``evaluations``.
        finalists: how many of each.
        seeds: how many, from 0.
        evaluations: of a run, equally far apart.
        levels: that no student and no expert has seen, to play once each.
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
            for budget in epochs
            for seed in range(seeds)
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
    """KL(expert || student) in nats at every state, ``[N]``."""
    found = []
    parts = (torch.split(values, STATES_AT_ONCE) for values in (states.inputs, states.targets))
    for frames, expert in zip(*parts, strict=True):
        log_student = student(frames).log_softmax(dim=1)
        found.append(F.kl_div(log_student, expert, reduction="none").sum(dim=1))
    return torch.cat(found)
