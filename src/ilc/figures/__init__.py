"""Figures and tables: one per file, tidy data in, nothing trained.

A figure is a module with ``draw(results) -> Figure``, a table one with ``tabulate(results) ->
DataFrame``; ``results`` is the folder of committed CSV files. Name a new one below.
"""

FIGURES = {
    "demo": "ilc.figures.demo",
    "irm_colored": "ilc.figures.irm_colored",
    "irm_linear": "ilc.figures.irm_linear",
    "irm_stability": "ilc.figures.irm_stability",
    "figure1": "ilc.figures.figure1",
    "figure2": "ilc.figures.figure2",
    "figure3": "ilc.figures.figure3",
    "figure4": "ilc.figures.figure4",
    "figure5": "ilc.figures.figure5",
    "figure6": "ilc.figures.figure6",
    "figure7": "ilc.figures.figure7",
    "figure7_thresholds": "ilc.figures.figure7_thresholds",
    "figure8": "ilc.figures.figure8",
    "figure9": "ilc.figures.figure9",
    "figure14": "ilc.figures.figure14",
    "figure15": "ilc.figures.figure15",
    "revolutions": "ilc.figures.revolutions",
    "figure16": "ilc.figures.figure16",
    "votes": "ilc.figures.votes",
    "figure10": "ilc.figures.figure10",
    "figure11": "ilc.figures.figure11",
    "figure12": "ilc.figures.figure12",
    "figure13": "ilc.figures.figure13",
    "figure17": "ilc.figures.figure17",
    "figure18": "ilc.figures.figure18",
    "figure_b2": "ilc.figures.figure_b2",
    "linear_regression": "ilc.figures.linear_regression",
    "consistency_scores": "ilc.figures.consistency_scores",
}
"""Figure files under ``results/figures/`` and the modules that draw them."""

TABLES = {
    "claims": "ilc.figures.claims",
    "cost": "ilc.figures.cost",
    "per_example_cost": "ilc.figures.per_example_cost",
    "irm_colored": "ilc.figures.irm_colored",
    "irm_linear": "ilc.figures.irm_linear",
    "irm_stability": "ilc.figures.irm_stability",
    "solution_scores": "ilc.figures.consistency_table",
    "consistency_ranks": "ilc.figures.consistency_ranks",
    "spirals_methods": "ilc.figures.spirals_methods",
    "table3": "ilc.figures.table3",
}
"""Table files under ``results/tables/`` and the modules that tabulate them."""
