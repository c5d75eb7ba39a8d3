"""From run folders to the tidy CSV files under ``results/``."""

from ilc.results.export import export_runs

__all__ = ["export_runs"]
