"""Linear unit tests 1s and 3s: the test error of eight methods, by how far the inputs are turned."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from lab.experiments.linear_unit_tests.results import FOLDER
from lab.figures.style import COLORS, GREY, new_figure, stamp

METHODS = {
    "mean": ("plain", COLORS["mean"], "o"),
    "and_mask": ("AND-mask", COLORS["and_mask"], "s"),
    "sand_mask": ("SAND-mask", COLORS["xor_mask"], "^"),
    "sign_election": ("sign election", COLORS["irm_penalty"], "v"),
    "gram_agreement": ("AND-mask, principal directions", COLORS["geometric_mean"], "D"),
    "v_rex": ("V-REx", COLORS["dann"], "P"),
    "UPGrad": ("UPGrad (TorchJD)", GREY, "X"),
    "MGDA": ("MGDA (TorchJD)", "black", "*"),
}
"""The label, colour and mark of each method. Masks by component come first, then methods that do not depend
on the basis."""

ROTATIONS = {0.0: "not turned", 0.5: "half way", 1.0: "turned"}


def draw(results: Path) -> Figure:
    """Draw a panel per problem and a line per method.

    The bars are standard deviations over data seeds, not standard errors of the mean.
    """
    table = _runs(results)
    problems = sorted(table.problem.unique())
    figure = new_figure(n_columns=len(problems), width=4.6, height=3.4)
    panels = figure.subplots(1, len(problems), squeeze=False)[0]
    for axes, problem in zip(panels, problems, strict=True):
        here = table[table.problem == problem]
        for place, (method, (label, color, mark)) in enumerate(METHODS.items()):
            line = here[here.method == method].sort_values("rotation")
            if len(line):
                # The bars stand side by side, so that none hides another.
                x = line.rotation + 0.014 * (place - len(METHODS) / 2)
                axes.errorbar(
                    x,
                    line["test/error"],
                    line["test/error_std"],
                    color=color,
                    marker=mark,
                    label=label,
                    lw=1.2,
                    elinewidth=0.8,
                )
        axes.set_title(f"problem {problem}", fontsize=10)
        axes.set_xlabel("share of the benchmark's rotation")
        axes.set_xticks(list(ROTATIONS))
    panels[0].set_ylabel("test error")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    few, many = int(table.n_seeds.min()), int(table.n_seeds.max())
    stamp(
        figure,
        f"mark: mean, bar: standard deviation over n = {many} data seeds (TorchJD's: {few}); "
        "best of 20 draws by validation error; generated data, 3 environments",
    )
    return figure


def tabulate(results: Path) -> pd.DataFrame:
    """Return one row per problem and method, with a column per rotation."""
    table = _runs(results)
    cells = table["test/error"].map("{:.3f}".format) + " ± " + table["test/error_std"].map("{:.3f}".format)
    table = table.assign(cell=cells, row=table.method.map(list(METHODS).index))
    wide = table.pivot(index=["problem", "row", "n_seeds"], columns="rotation", values="cell")
    wide = wide.fillna("").rename(columns=ROTATIONS).reset_index()
    names = [METHODS[list(METHODS)[row]][0] for row in wide.row]
    return wide.assign(method=names, n=wide.n_seeds)[["problem", "method", *ROTATIONS.values(), "n"]]


def _runs(results: Path) -> pd.DataFrame:
    names = {f"dataset.{name}": name for name in ("problem", "rotation")}
    parts = [
        pd.read_csv(results / FOLDER / "turned" / f"{name}_runs.csv", dtype={"dataset.problem": str})
        for name in ("aggregators", "torchjd")
    ]
    parts[1] = parts[1].assign(aggregator=parts[1]["aggregator.kind"])
    table = pd.concat(parts, ignore_index=True).rename(columns=names)
    return table.assign(method=table.aggregator)
