"""What L1 and L2 do to the first layer of networks that the AND-mask trains (paper, section 3.1).

The configuration is the one that the search with L2 found best; L1's factor is the smallest of its search, as
ten times that takes off all weights here.
"""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch
from torch import Tensor, nn

from lab.data.spirals import MECHANISM_DIMENSIONS
from lab.experiments.measurement import Parts, Tables, trained
from lab.experiments.spirals.input_weights import INPUT_WEIGHTS, REGULARISERS
from lab.models import MLP
from lab.runs.one_run.run_options import RunOptions


def parts(seeds: int = 3) -> Parts:
    """``spirals/input_weights.csv``: a part per seed and regulariser, half a minute each.

    Args:
        seeds: how many, from 0.
    """
    return {
        f"seed{seed}-{name}": partial(_train, seed, name) for seed in range(seeds) for name in REGULARISERS
    }


def _train(seed: int, regulariser: str) -> Tables:
    run = trained(
        [
            "experiment=spirals",
            "tuned=searched/spirals/and_mask_l2",
            *REGULARISERS[regulariser].overrides,
            "trainer.stop_when_memorised=false",
            "trainer.evaluate_every=93",
            f"seed={seed}",
        ]
    )
    # Made from the same config and seed, this is the network before its first step.
    untrained = RunOptions.of(run.config).build_task(torch.device("cpu")).model
    known = {"seed": seed, "regulariser": regulariser, "data_source": run.data.source}
    known |= {key: run.metrics[-1][key] for key in ("train/accuracy", "test/accuracy")}
    rows = [
        known | {"when": when} | strengths(network, untrained)
        for when, network in (("before", untrained), ("after", run.model))
    ]
    return {INPUT_WEIGHTS.as_posix(): pd.DataFrame(rows)}


def strengths(network: nn.Module, untrained: nn.Module) -> dict[str, float]:
    """Root mean square of the first layer's weights by kind of input, and the strength of its neurons.

    A neuron's strength is the norm of its weights from the inputs times that of its weights to the next
    layer. ``tuned_to_shortcuts`` is the mean strength of those neurons that hear most of the shortcuts
    before training, a half of all, over that of the other half.
    """
    incoming, outgoing = _first_two(network)
    share = _shortcut_share(_first_two(untrained)[0])
    strength = incoming.norm(dim=1) * outgoing.norm(dim=0)
    tuned = share > share.median()
    return {
        "mechanism_rms": float(incoming[:, :MECHANISM_DIMENSIONS].square().mean().sqrt()),
        "shortcut_rms": float(incoming[:, MECHANISM_DIMENSIONS:].square().mean().sqrt()),
        "tuned_to_shortcuts": float(strength[tuned].mean() / strength[~tuned].mean()),
    }


def _first_two(network: nn.Module) -> tuple[Tensor, Tensor]:
    """Weights into the first hidden layer ``[H, D]`` and out of it ``[H', H]``."""
    assert isinstance(network, MLP)
    first, second, *_ = (layer for layer in network.layers if isinstance(layer, nn.Linear))
    return first.weight.detach(), second.weight.detach()


def _shortcut_share(incoming: Tensor) -> Tensor:
    """``[H]``: which part of a neuron's squared input weights comes from the shortcuts."""
    squared = incoming.square()
    return squared[:, MECHANISM_DIMENSIONS:].sum(1) / squared.sum(1)
