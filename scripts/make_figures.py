"""Redraw every figure and table from ``results/``, offline, in about a minute and without training.

    python scripts/make_figures.py            draws all figures and tables
    python scripts/make_figures.py demo       draws only those that are named

Figures and tables of an experiment are in ``results/EXPERIMENT/figures`` and ``results/EXPERIMENT/tables``.
The script also puts the tables into the README and the pages of ``docs/``, between ``<!-- table:NAME -->``
and ``<!-- end -->``. The name ``verdicts`` stands for the claims: their tables and the pages ``claims.md``
and ``to_the_authors.md`` of ``docs/``.
Without names, the script also writes ``docs/gallery.md``, the README's thumbnails and the tables of hours.
For another folder (``--results anew``), pages of ``docs/`` stay as they are: its own are in ``anew/docs/``.
It draws nothing if a file differs from ``results/SHA256SUMS`` (see ``scripts/checksums.py``).
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from matplotlib.figure import Figure
from rich.progress import track

from ilc.errors import UserError
from lab.configuration.command_line import command_parser, run_command
from lab.configuration.keys import unknown_name
from lab.figures import authors_page, claims, claims_page, gallery, studies, thumbnails
from lab.figures.damage import is_data, one_line_if_damaged
from lab.figures.discovery import experiments, figure_modules, home_of
from lab.figures.markdown_table import as_markdown
from lab.figures.pages import pages, relinked, with_tables
from lab.files.atomic import write_atomically, write_text
from lab.files.checksums import SUMS, check

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
        raise UserError(unknown_name("figure or table", unknown[0], [*found, CLAIMS]))
    if results == ROOT / "results" or (results / SUMS).exists():
        check(results)
    else:
        print(f"{results} has no {SUMS}, so its files are drawn without a check")
    read: dict[str, set[str]] = {}
    collected: dict[str, list[claims.Claim]] = {}
    for name in track(names, description="Figures and tables", disable=not sys.stdout.isatty()):
        if name == CLAIMS:
            with one_line_if_damaged(name, results):
                collected = save_claims(results)
        else:
            module = import_module(found[name])
            with one_line_if_damaged(name, results) as files:
                save(name, module, results)
            if hasattr(module, "draw"):
                read[name] = set(filter(is_data, files))
    if not arguments.names:
        write_page(gallery.PAGE, gallery.page(read, collected), results)
        with one_line_if_damaged(thumbnails.TABLE, results):
            save_thumbnails(results)
        with one_line_if_damaged("hours", results):
            for experiment, table in studies.hours(results).items():
                save_table(f"hours_{experiment}", as_markdown(table), results, experiment)
    if results == ROOT / "results":
        for page in pages(ROOT):
            write_text(page, with_tables(page, results))
    print(f"{len(names)} figures and tables are written under {arguments.results}")


def save(name: str, module: ModuleType, results: Path) -> None:
    """Draw one figure as PNG, write one table as Markdown, or both, below the results of its experiment."""
    home = home_of(module.__name__)
    if hasattr(module, "draw"):
        save_picture(module.draw(results), results / home / "figures" / f"{name}.png")
    if hasattr(module, "tabulate"):
        save_table(name, as_markdown(module.tabulate(results)), results, home)


def save_picture(figure: Figure, path: Path, dpi: float | None = None) -> None:
    """Write a picture as PNG, with the style's dots per inch if no other number is given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the software's name and version the file changes only when the picture does.
    write_atomically(
        path, lambda file: figure.savefig(file, format="png", metadata={"Software": None}, dpi=dpi)
    )


def save_thumbnails(results: Path) -> None:
    """Draw the README's thumbnails, and write the table that shows them."""
    for name, module in thumbnails.thumbnail_modules().items():
        picture = import_module(module).draw(results)
        save_picture(picture, results / name / thumbnails.FILE, dpi=thumbnails.DPI)
    save_table(thumbnails.TABLE, thumbnails.table(), results)


def save_claims(results: Path) -> dict[str, list[claims.Claim]]:
    """Write a table of verdicts, a table of claims for each experiment, and the two pages of claims.

    Returns:
        The claims by the title of their experiment.
    """
    collected = claims.collect(results)
    for experiment in experiments():
        of_this = collected.get(claims.title_of(experiment))
        if of_this:
            table = claims.at_a_glance(of_this, str(claims.PAGE))
            save_table(f"claims_{experiment}", as_markdown(table), results, experiment)
    save_table(CLAIMS, as_markdown(claims.verdicts(collected)), results)
    write_page(claims.PAGE, claims_page.page(collected), results)
    write_page(authors_page.PAGE, authors_page.page(collected), results)
    return collected


def write_page(page: Path, text: str, results: Path) -> None:
    """Write a page about the results; that of another folder than the committed one lies in that folder."""
    committed = results == ROOT / "results"
    path = (ROOT if committed else results) / page
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    if not committed:
        print(path)


def save_table(name: str, text: str, results: Path, experiment: str = "") -> None:
    """Write one table of an experiment, or of all of them.

    Args:
        name: of the table.
        text: the table, with links that start at the folder above the results.
        results: the folder of the results.
        experiment: whose table it is; none for a table of all experiments.
    """
    path = results / experiment / "tables" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, relinked(text, results.parent, path.parent))


if __name__ == "__main__":
    run_command(main)
