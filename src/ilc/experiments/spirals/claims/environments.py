"""Claims about the thesis's configuration: how many revolutions it bears, how many environments it needs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ilc.experiments.spirals.environments import (
    L2,
    READING,
    REVOLUTIONS,
    SIZE,
    THRESHOLD,
    UNANIMITY,
    masked_by_revolutions,
    masked_by_size,
    plain_runs,
    read_environments,
    seeds_per_point,
)
from ilc.experiments.spirals.methods import PERFECT
from ilc.figures.claims import Claim
from ilc.figures.style import median_and_range

PAPER_ENVIRONMENTS = 1024


def claims(results: Path) -> list[Claim]:
    """From ``spirals/environments_runs.csv``."""
    runs = read_environments(results)
    return [configuration(runs), environments(runs)]


def configuration(runs: pd.DataFrame) -> Claim:
    """The thesis's best configuration on the paper's 32 environments, by number of revolutions."""
    literal, rescaled = (masked_by_revolutions(runs, choice) for choice in (False, True))
    bare = runs[(runs.aggregator == "and_mask") & (runs[L2] == 0)]["test/accuracy"]
    most = literal[literal[REVOLUTIONS] == literal[REVOLUTIONS].max()]
    return Claim(
        short="The thesis's best configuration is perfect",
        claim="spirals: the configuration that the thesis names its best (threshold 1, L2 1e-4) is perfect",
        paper="perfect test accuracy; the number of revolutions and rescaling are left open, the "
        "authors' code has 3 revolutions",
        ours=f"test accuracy by revolutions: {_by_revolutions(literal)}; rescaled: "
        f"{_by_revolutions(rescaled)}; 1 revolution without L2: {median_and_range(bare)}; "
        f"median and range, n = {seeds_per_point(runs)} seeds",
        number=f"{100 * most['test/accuracy'].median():.1f} % test accuracy at {most[REVOLUTIONS].iloc[0]:g} "
        "revolutions",
        verdict=_verdict(_most_revolutions(literal), _most_revolutions(rescaled)),
    )


def environments(runs: pd.DataFrame) -> Claim:
    """Figure 15: the number of environments at which plain training finds the mechanism."""
    most = int(runs[SIZE].max())
    first = {
        turns: min(_perfect(plain_runs(runs, turns)), default=None)
        for turns in sorted(runs[REVOLUTIONS].unique())
    }
    words = {turns: f"never up to {most:,}" if size is None else f"{size:,}" for turns, size in first.items()}
    masks = masked_by_size(runs)
    perfect = {
        threshold: _perfect(masks[masks[THRESHOLD] == threshold])
        for threshold in sorted(masks[THRESHOLD].unique())
    }
    masked, mean = min(perfect.get(UNANIMITY, []), default=None), first[READING]
    if mean is None:
        verdict = "not reproduced: the baseline never does"
    elif masked is None or masked >= mean:
        verdict = "not reproduced"
    else:
        number = "" if mean == PAPER_ENVIRONMENTS else ", at another number"
        verdict = f"reproduced with {READING:g} revolutions{number}"
    reached = "; ".join(f"threshold {threshold:g} at {_sizes(sizes)}" for threshold, sizes in perfect.items())
    others = ", ".join(f"{turns:g}: {text}" for turns, text in words.items() if turns != READING)
    return Claim(
        short="Plain training needs very many environments",
        claim="spirals: plain training needs very many environments to find the mechanism (figure 15)",
        paper=f"first at {PAPER_ENVIRONMENTS:,}, best of five runs",
        ours=f"environments from which the best of n = {seeds_per_point(runs)} seeds reaches "
        f"{100 * PERFECT:.0f} % test accuracy, {READING:g} revolutions (chosen by us): "
        f"plain training {words[READING]}; the AND-mask does with {reached} of "
        f"{_sizes(sorted(masks[SIZE].unique()))}; plain training with other revolutions: "
        f"{others}; the thesis's configuration",
        number=f"{words[READING]} environments" if mean is not None else words[READING],
        verdict=verdict,
    )


def _by_revolutions(runs: pd.DataFrame) -> str:
    accuracies = runs.groupby(REVOLUTIONS)["test/accuracy"]
    return ", ".join(f"{turns:g}: {median_and_range(accuracy)}" for turns, accuracy in accuracies)


def _most_revolutions(runs: pd.DataFrame) -> float | None:
    """The largest number of revolutions whose median is perfect."""
    medians = runs.groupby(REVOLUTIONS)["test/accuracy"].median()
    reached = medians[medians >= PERFECT]
    return None if reached.empty else float(reached.index.max())


def _verdict(literal: float | None, rescaled: float | None) -> str:
    parts = [
        f"up to {most:g} {'revolution' if most == 1 else 'revolutions'}{how}"
        for most, how in ((literal, ""), (rescaled, " if rescaled"))
        if most is not None
    ]
    return f"reproduced {', '.join(parts)}" if parts else "not reproduced"


def _perfect(runs: pd.DataFrame) -> list[int]:
    """The numbers of environments whose best seed is perfect, from the smallest."""
    best = runs.groupby(SIZE)["test/accuracy"].max()
    return [int(size) for size in best.index[best >= PERFECT]]


def _sizes(sizes: list[int]) -> str:
    return ", ".join(f"{size:,}" for size in sizes) or "none"
