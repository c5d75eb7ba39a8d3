"""The votes on colour and shape during training, and the consistency score of the solutions."""

from __future__ import annotations

import warnings
from copy import deepcopy
from functools import partial

import pandas as pd
import torch
from torch import nn
from torch.nn import functional as F

from ilc.consistency import score_solution
from lab.data import Environments
from lab.experiments.irm.color_networks import (
    agreeing,
    behaviour,
    environments,
    presented,
    trained_networks,
)
from lab.experiments.irm.color_votes import (
    COLORED_MNIST,
    DAMPING,
    EPSILON,
    METHODS,
    SCORES,
    SECOND_NOISES,
    SWEPT,
    VOTES,
)
from lab.experiments.measurement import Parts, Tables


def parts(
    seeds: int = 5, images: int = 3000, scored: int = 2000, source: str = "mnist", data_dir: str = "data"
) -> Parts:
    """Return a part per colour noise, method and seed; each takes seconds to a minute.

    ``irm/color_votes.csv`` has a row per evaluated step. ``irm/color_scores.csv`` has two rows per network
    of Colored MNIST: the score on both training environments, and with the test environment added.

    Args:
        seeds: the number of seeds, which begin with 0. A seed decides data and network.
        images: the number of images of each training environment.
        scored: the number of images of each environment that the score looks at.
        source: of the digits, as in ``make_colored_mnist``.
        data_dir: the folder of MNIST.
    """
    return {
        f"noise{noise:g}-{method}-seed{seed}": partial(
            _measure, noise, method, seed, images, scored, source, data_dir
        )
        for noise in SECOND_NOISES
        for method in METHODS
        if noise == COLORED_MNIST or method in SWEPT
        for seed in range(seeds)
    }


def _measure(
    noise: float, method: str, seed: int, images: int, scored: int, source: str, data_dir: str
) -> Tables:
    data = environments(noise, seed, images, source, data_dir)
    known = {"second_noise": noise, "method": method, "seed": seed}
    rows = []
    for step, network, kept in trained_networks(method, data, seed):
        seen = agreeing(network, data, method) | behaviour(network, data, method)
        rows.append(known | {"step": step, "kept_share": kept} | seen | {"data_source": data.source})
    tables: Tables = {VOTES.as_posix(): pd.DataFrame(rows)}
    if noise == COLORED_MNIST:
        scores = [known | row for row in scores_of(network, data, method, scored)]
        tables[SCORES.as_posix()] = pd.DataFrame(scores).assign(data_source=data.source)
    return tables


def scores_of(network: nn.Module, data: Environments, method: str, n: int) -> list[dict[str, float | str]]:
    """Return the consistency score of a network on the training environments, and with the test environment.

    Args:
        network: the trained network.
        data: its data.
        method: the method that trained it.
        n: the first ``n`` examples of each environment are looked at.
    """
    test = data.evaluation["test"]
    inputs = [presented(x[:n], method).double() for x in (*data.inputs, test.inputs)]
    targets = [y[:n] for y in (*data.targets, test.targets)]
    precise = deepcopy(network).double()
    rows: list[dict[str, float | str]] = []
    for name, n_environments in (("training", 2), ("with_test", 3)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # A column says whether there were warnings.
            score = score_solution(
                precise,
                F.cross_entropy,
                inputs[:n_environments],
                targets[:n_environments],
                epsilon=EPSILON,
                damping=DAMPING,
                groups=0,
                progress=False,
            )
        with torch.no_grad():
            risks = [
                float(F.cross_entropy(precise(x), y))
                for x, y in zip(inputs[:n_environments], targets[:n_environments], strict=True)
            ]
        rows.append(
            {
                "environments": name,
                "inconsistency": -score.score,
                "risk_spread": score.spread,
                "mean_risk": sum(risks) / n_environments,
                "true_gap": score.gap,
                "true_rise": score.rise,
                "n_warnings": len(score.warnings),
            }
        )
    return rows
