"""Correlations of masked gradients with the mechanism's and the shortcuts' own, at initialisation (figure 7).

    python scripts/measure_gradient_correlations.py              within a minute on one core

writes ``results/spirals/correlations.csv``, a row per seed, mask and threshold, and
``correlations_scatter.csv``, a sample of single components. A seed decides data and network, and
its rows do not depend on the others: ``--seeds 3 --results outputs`` repeats the first three.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
import torch
from rich.progress import track

from ilc.aggregators import AndMask, XorMask
from ilc.atomic import write_text
from ilc.configuration.command_line import run_command
from ilc.consistency.gradient_correlations import (
    Kept,
    SignalGradients,
    compare,
    kept,
    network_and_spirals,
    signal_gradients,
)
from ilc.seeding import generator_for

ROOT = Path(__file__).parents[1]
N_ENVIRONMENTS = 16
# Signs of 16 environments add up to an even number, so these are all the masks that differ. The
# XOR-mask keeps nothing at threshold 0.
THRESHOLDS = [votes / N_ENVIRONMENTS for votes in range(0, N_ENVIRONMENTS + 1, 2)]
SCATTER_THRESHOLDS = (0.0, 0.875)
SCATTER_PER_SEED = 200
Row = dict[str, float | int | str]


def main() -> None:
    """Measure and write both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many, from 0 (default: 10)")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "spirals", help="where to write")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.results.mkdir(parents=True, exist_ok=True)
    correlations: list[Row] = []
    scatter: list[Row] = []
    for seed in track(range(arguments.seeds), description="Gradient correlations"):
        network, spirals = network_and_spirals(seed, N_ENVIRONMENTS)
        gradients = signal_gradients(network, spirals, seed)
        for threshold in THRESHOLDS:
            chosen = kept(gradients, AndMask(threshold))
            correlations.append(_row(seed, "and_mask", threshold, gradients, chosen, spirals.source))
            if threshold in SCATTER_THRESHOLDS:
                scatter += _sample(seed, threshold, gradients, chosen)
            if threshold > 0:
                chosen = kept(gradients, XorMask(threshold))
                correlations.append(_row(seed, "xor_mask", threshold, gradients, chosen, spirals.source))
    for file, rows in (("correlations", correlations), ("correlations_scatter", scatter)):
        path = arguments.results / f"{file}.csv"
        write_text(path, pd.DataFrame(rows).to_csv(index=False, float_format="%.6g"))
        print(f"{path}: {len(rows)} rows")


def _row(
    seed: int, mask: str, threshold: float, gradients: SignalGradients, chosen: Kept, source: str
) -> Row:
    row: Row = {"seed": seed, "mask": mask, "agreement_threshold": threshold, "kept_share": chosen.share}
    for name, signal in (("mechanism", gradients.mechanism), ("shortcut", gradients.shortcut)):
        compared = compare(chosen.average, signal[chosen.components])
        row |= {f"{name}_{key}": value for key, value in compared._asdict().items()}
    return row | {"data_source": source}


def _sample(seed: int, threshold: float, gradients: SignalGradients, chosen: Kept) -> list[Row]:
    """The first components of a random order of those kept, the same number for every network."""
    order = torch.randperm(len(chosen.average), generator=generator_for(seed, "scatter"))[:SCATTER_PER_SEED]
    columns = (chosen.average, gradients.mechanism[chosen.components], gradients.shortcut[chosen.components])
    return [
        {"seed": seed, "agreement_threshold": threshold, "average": a, "mechanism": m, "shortcut": s}
        for a, m, s in zip(*(column[order].tolist() for column in columns), strict=True)
    ]


if __name__ == "__main__":
    run_command(main)
