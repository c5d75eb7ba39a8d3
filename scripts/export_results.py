"""Collect finished runs into tidy CSV files.

    python scripts/export_results.py outputs/spirals --to results/spirals/demo

writes ``results/spirals/demo_runs.csv`` (a row per run) and ``demo_curves.csv`` (a row per
evaluation).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ilc.atomic import write_text
from ilc.configuration.command_line import run_command
from ilc.results import export_runs


def main() -> None:
    """Read the folders named on the command line and write both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, help="run folders, or folders above them")
    parser.add_argument("--to", required=True, type=Path, help="where to write, without _runs.csv")
    parser.add_argument("--columns", nargs="*", default=[], help="config keys to add, such as optimizer.lr")
    arguments = parser.parse_args()
    runs, curves = export_runs(arguments.folders, arguments.columns)
    arguments.to.parent.mkdir(parents=True, exist_ok=True)
    for kind, table in (("runs", runs), ("curves", curves)):
        path = arguments.to.with_name(f"{arguments.to.name}_{kind}.csv")
        write_text(path, table.to_csv(index=False))
        print(f"{path}: {len(table)} rows")


if __name__ == "__main__":
    run_command(main)
