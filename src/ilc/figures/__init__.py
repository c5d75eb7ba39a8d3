"""Figures and tables: one per file, tidy data in, nothing trained.

A figure is a module with ``draw(results) -> Figure``, a table one with ``tabulate(results) ->
DataFrame``; ``results`` is the folder of committed CSV files. Name a new one below.
"""

FIGURES = {
    "demo": "ilc.figures.demo",
    "irm_colored": "ilc.figures.irm_colored",
    "irm_linear": "ilc.figures.irm_linear",
    "irm_stability": "ilc.figures.irm_stability",
}
"""Figure files under ``results/figures/`` and the modules that draw them."""

TABLES = {
    "claims": "ilc.figures.claims",
    "cost": "ilc.figures.cost",
    "irm_claims": "ilc.figures.irm_claims",
    "irm_colored": "ilc.figures.irm_colored",
    "irm_linear": "ilc.figures.irm_linear",
    "irm_stability": "ilc.figures.irm_stability",
}
"""Table files under ``results/tables/`` and the modules that tabulate them."""
