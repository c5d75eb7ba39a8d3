"""The effect of L1 and L2 on the first layer of networks that the AND-mask trains (paper, section 3.1).

The configuration is the one that the search with L2 found best. L1's factor is the smallest of its search,
because a factor ten times larger removes all weights here.
"""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch
from torch import Tensor, nn

from lab.data.spirals import MECHANISM_DIMENSIONS
from lab.experiments.measurement import Parts, Tables, trained
from lab.experiments.spirals.input_weights import INPUT_WEIGHTS, REGULARISERS
from lab.experiments.spirals.settings import INPUT_WEIGHTS_OF_AUTHORS
from lab.models import MLP
from lab.runs.one_run.run_options import RunOptions


def parts(seeds: int = 10, authors_setting: bool = False) -> Parts:
    """Return the parts of ``input_weights.csv``: one per seed and regulariser.

    Each part takes half a minute. The table lies in ``spirals/``, and that of the authors' setting in
    ``spirals/kaiming/``.

    Args:
        seeds: the number of seeds, which begin with 0.
        authors_setting: take the search with the authors' code for what the paper leaves open.
    """
    return {
        f"seed{seed}-{name}": partial(_train, seed, name, authors_setting)
        for seed in range(seeds)
        for name in REGULARISERS
    }


def _train(seed: int, regulariser: str, authors_setting: bool) -> Tables:
    search = "spirals_kaiming" if authors_setting else "spirals"
    run = trained(
        [
            "experiment=spirals",
            f"tuned=searched/{search}/and_mask_l2",
            *REGULARISERS[regulariser].overrides,
            "trainer.stop_when_memorised=false",
            "trainer.evaluate_every=93",
            f"seed={seed}",
        ]
    )
    # This network is made from the same config and seed, so it equals the trained one before its first step.
    untrained = RunOptions.of(run.config).build_task(torch.device("cpu")).model
    known = {"seed": seed, "regulariser": regulariser, "data_source": run.data.source}
    known |= {key: run.metrics[-1][key] for key in ("train/accuracy", "test/accuracy")}
    rows = [
        known | {"when": when} | strengths(network, untrained)
        for when, network in (("before", untrained), ("after", run.model))
    ]
    table = INPUT_WEIGHTS_OF_AUTHORS if authors_setting else INPUT_WEIGHTS
    return {table.as_posix(): pd.DataFrame(rows)}


def strengths(network: nn.Module, untrained: nn.Module) -> dict[str, float]:
    """Return the root mean square of the first layer's weights by kind of input, and its neurons' strength.

    A neuron's strength is the norm of its weights from the inputs times the norm of its weights to the next
    layer. The neurons are divided into two halves by the share of the shortcuts in their input weights before
    training. ``tuned_to_shortcuts`` is the mean strength of the half with the larger shares, divided by the
    mean strength of the other half.
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
    """Return the weights into the first hidden layer, ``[H, D]``, and out of it, ``[H', H]``."""
    assert isinstance(network, MLP)
    first, second, *_ = (layer for layer in network.layers if isinstance(layer, nn.Linear))
    return first.weight.detach(), second.weight.detach()


def _shortcut_share(incoming: Tensor) -> Tensor:
    """Return ``[H]``: the share of the shortcuts in each neuron's squared input weights."""
    squared = incoming.square()
    return squared[:, MECHANISM_DIMENSIONS:].sum(1) / squared.sum(1)
