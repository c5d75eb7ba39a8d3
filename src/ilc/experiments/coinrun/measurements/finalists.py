"""The best configurations of two searches on new seeds: what counts in the comparison of section 3.3."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.data import Split
from ilc.experiments.coinrun.levels import CLONING_TEST
from ilc.experiments.measurement import Parts, Tables, trained
from ilc.runs.search.tuned import with_rank

STATES_AT_ONCE = 500
RUNS = "coinrun_bc/finalists.csv"
"""A row per search, rank and seed, with the divergences of its last evaluation."""
LEVELS = "coinrun_bc/finalists_levels.csv"
"""A row per search, seed and test level: the divergence there, averaged over the ranks."""


def parts(searches: Sequence[str], finalists: int = 10, seeds: int = 5) -> Parts:
    """``coinrun_bc/finalists.csv`` and ``finalists_levels.csv``: a part per search and seed.

    Args:
        searches: names of searches whose best configurations lie in ``conf/tuned/searched/``.
        finalists: how many of each.
        seeds: how many, from 0.
    """
    return {
        f"{search.replace('/', '_')}-seed{seed}": partial(_train, search, finalists, seed)
        for search in searches
        for seed in range(seeds)
    }


def _train(search: str, finalists: int, seed: int) -> Tables:
    rows, by_level = [], []
    for rank in range(1, finalists + 1):
        run = trained(["experiment=coinrun_bc", f"tuned=searched/{with_rank(search, rank)}", f"seed={seed}"])
        last = {name: value for name, value in run.metrics[-1].items() if name.endswith("/kl")}
        known = {"search": search, "rank": rank, "seed": seed, **last}
        rows.append({**known, "data_source": run.data.source})
        by_level.append(divergences(run.model, run.data.evaluation["test"]))
    levels = pd.DataFrame(
        {
            "search": search,
            "seed": seed,
            "level": CLONING_TEST[: len(by_level[0])],
            "test/kl": torch.stack(by_level).mean(dim=0).numpy(),
        }
    )
    return {RUNS: pd.DataFrame(rows), LEVELS: levels}


@torch.no_grad()
def divergences(student: nn.Module, states: Split) -> Tensor:
    """KL(expert || student) in nats at every state, ``[N]``."""
    found = []
    parts = (torch.split(values, STATES_AT_ONCE) for values in (states.inputs, states.targets))
    for frames, expert in zip(*parts, strict=True):
        log_student = student(frames).log_softmax(dim=1)
        found.append(F.kl_div(log_student, expert, reduction="none").sum(dim=1))
    return torch.cat(found)
