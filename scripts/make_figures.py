"""Redraw every figure and table from ``results/``: offline, within seconds, without training.

    python scripts/make_figures.py            all of them
    python scripts/make_figures.py demo       only those named

Tables that the README shows are put in there too, between its ``<!-- table:NAME -->`` marks.
"""

from __future__ import annotations

import argparse
import re
from importlib import import_module
from pathlib import Path

import pandas as pd
from rich.progress import track

from ilc.atomic import write_atomically, write_text
from ilc.configuration.command_line import run_command
from ilc.errors import UserError
from ilc.figures import FIGURES, TABLES

RESULTS = Path(__file__).parents[1] / "results"


def main() -> None:
    """Draw and write what the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="figures and tables (default: all)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV files")
    arguments = parser.parse_args()
    names = arguments.names or list(dict.fromkeys([*FIGURES, *TABLES]))
    unknown = sorted(set(names) - FIGURES.keys() - TABLES.keys())
    if unknown:
        known = ", ".join([*FIGURES, *TABLES])
        raise UserError(f"no figure or table is called {unknown[0]!r}: there are {known}")
    for name in track(names, description="Figures and tables"):
        if name in FIGURES:
            save_figure(name, arguments.results)
        if name in TABLES:
            save_table(name, arguments.results)
    if arguments.results.resolve() == RESULTS.resolve():
        update_readme(names)
    print(f"{len(names)} names: figures and tables under {arguments.results}")


def save_figure(name: str, results: Path) -> None:
    """Draw one figure as PNG."""
    figure = import_module(FIGURES[name]).draw(results)
    path = results / "figures" / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    # Without the software's name and version the file changes only when the picture does.
    write_atomically(path, lambda file: figure.savefig(file, format="png", metadata={"Software": None}))


def save_table(name: str, results: Path) -> None:
    """Write one table as Markdown."""
    table: pd.DataFrame = import_module(TABLES[name]).tabulate(results)
    path = results / "tables" / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    write_text(path, table.to_markdown(index=False) + "\n")


def update_readme(names: list[str]) -> None:
    """Replace the tables that the README shows."""
    readme = RESULTS.parent / "README.md"
    text = readme.read_text()
    for name in set(names) & TABLES.keys():
        table = (RESULTS / "tables" / f"{name}.md").read_text()
        marks = re.compile(f"(<!-- table:{name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = marks.sub(lambda match, table=table: match[1] + table + match[2], text)  # type: ignore[misc]
    if text != readme.read_text():
        write_text(readme, text)


if __name__ == "__main__":
    run_command(main)
