"""Redraw every figure and table from ``results/``: offline, within seconds, without training.

    python scripts/make_figures.py            all of them
    python scripts/make_figures.py demo       only those named

Beside ``results/figures`` and ``results/tables`` it writes ``docs/claims.md``, with all of them also
``docs/gallery.md``, and into the README and the pages of ``docs/`` the tables between their
``<!-- table:NAME -->`` and ``<!-- end -->``. ``verdicts`` names both the table that counts the claims and
their page.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from rich.progress import track

from ilc.atomic import write_atomically, write_text
from ilc.configuration.command_line import command_parser, run_command
from ilc.errors import UserError
from ilc.figures import claims, gallery
from ilc.figures.discovery import figure_modules
from ilc.figures.gallery import files_read
from ilc.figures.pages import pages, relinked, with_tables

ROOT = Path(__file__).resolve().parents[1]
CLAIMS = "verdicts"


def main() -> None:
    """Draw and write what the command line names."""
    parser = command_parser(__doc__)
    parser.add_argument("names", nargs="*", help="figures and tables (default: all)")
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="folder of the CSV files")
    arguments = parser.parse_args()
    results = arguments.results.resolve()
    found = figure_modules()
    names = arguments.names or [*found, CLAIMS]
    unknown = sorted(set(names) - {*found, CLAIMS})
    if unknown:
        known = ", ".join([*found, CLAIMS])
        raise UserError(f"no figure or table is called {unknown[0]!r}: there are {known}")
    read: dict[str, set[str]] = {}
    for name in track(names, description="Figures and tables", disable=not sys.stdout.isatty()):
        if name == CLAIMS:
            save_claims(results)
        else:
            module = import_module(found[name])
            with files_read(results) as files:
                save(name, module, results)
            if hasattr(module, "draw"):
                read[name] = {file for file in files if not file.startswith(("figures/", "tables/"))}
    if not arguments.names:
        write_text(results.parent / gallery.PAGE, gallery.page(read))
    if results == ROOT / "results":
        for page in pages(ROOT):
            write_text(page, with_tables(page, results / "tables"))
    print(f"{len(names)} names: figures and tables under {arguments.results}")


def save(name: str, module: ModuleType, results: Path) -> None:
    """Draw one figure as PNG, write one table as Markdown, or both."""
    if hasattr(module, "draw"):
        figure = module.draw(results)
        path = results / "figures" / f"{name}.png"
        path.parent.mkdir(exist_ok=True)
        # Without the software's name and version the file changes only when the picture does.
        write_atomically(path, lambda file: figure.savefig(file, format="png", metadata={"Software": None}))
    if hasattr(module, "tabulate"):
        save_table(name, module.tabulate(results).to_markdown(index=False) + "\n", results)


def save_claims(results: Path) -> None:
    """Write how many claims came out how as a table, and all of them as a page."""
    collected = claims.collect(results)
    save_table(CLAIMS, claims.verdicts(collected).to_markdown(index=False) + "\n", results)
    path = results.parent / claims.PAGE
    path.parent.mkdir(exist_ok=True)
    write_text(path, claims.page(collected))


def save_table(name: str, text: str, results: Path) -> None:
    """Write one table, whose links start at the folder above the results."""
    path = results / "tables" / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    write_text(path, relinked(text, results.parent, path.parent))


if __name__ == "__main__":
    run_command(main)
