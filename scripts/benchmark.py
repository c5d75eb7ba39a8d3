"""Measure the cost of a training step on this machine, which should do nothing else meanwhile.

    python scripts/benchmark.py gradients                       prints the tables
    python scripts/benchmark.py gradients --to results/cost     also writes them as CSV files

The names:

    gradients, transformers   time and memory of every way to obtain a masked gradient, and of other libraries
    floors, profile           the least that a step must compute, and where its time goes
    training_steps            a whole step of section 3.2's network at small widths
    compiled, processes       steps with a compiled model; steps in one process and in two
    diagnosis                 ``ilc.diagnose`` beside a plain pass
    optimizer                 Adam with the temporal AND-mask beside PyTorch's Adam
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pandas as pd
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from ilc.errors import UserError
from lab.configuration.command_line import command_parser, run_command
from lab.configuration.searched_settings import RESULTS
from lab.figures.discovery import modules
from lab.files.atomic import check_file_path
from lab.runs.tables.export import write_results_files
from lab.terminal.printed_table import print_table


def main() -> None:
    """Measure, print the tables, and write them if ``--to`` is given."""
    found = {name.rpartition(".")[2]: name for name in modules("cost", "measurements")}
    parser = command_parser(__doc__)
    parser.add_argument("name", choices=found, help="what to measure")
    parser.add_argument(
        "--steps", type=int, help="number of timed steps of each way (default: depends on the way)"
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: the GPU if there is one")
    parser.add_argument("--to", type=Path, help="write the CSV files to this folder")
    arguments = parser.parse_args()
    check(arguments.steps, arguments.device, arguments.to)
    tables: dict[str, list[pd.DataFrame]] = {}
    parts_of = import_module(found[arguments.name]).parts(arguments.steps, arguments.device)
    if not parts_of:
        raise UserError(f"{arguments.name} measures nothing on {arguments.device}: leave --device out")
    console = Console(stderr=True)
    bar = track(parts_of.values(), arguments.name, console=console, disable=not console.is_terminal)
    for part in bar:
        for path, rows in part().items():
            tables.setdefault(Path(path).name, []).append(rows)
    joined = {file: pd.concat(parts, ignore_index=True) for file, parts in tables.items()}
    for file, table in joined.items():
        show(file, table)
    if arguments.to:
        contents = {arguments.to / file: table.to_csv(index=False).encode() for file, table in joined.items()}
        write_results_files(contents, RESULTS)


def check(steps: int | None, device: str | None, to: Path | None) -> None:
    """Check the options before anything is measured.

    Raises:
        UserError: there are no steps to time, no such device, or no such folder can be made.
    """
    if steps is not None and steps < 1:
        raise UserError(f"--steps must be a whole number of at least 1, got {steps}")
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError(
            "--device cuda needs a CUDA device, but none can be used here: take --device cpu, or leave it out"
        )
    if to is not None:
        check_file_path(to / "table.csv")
        to.mkdir(parents=True, exist_ok=True)


def show(title: str, table: pd.DataFrame) -> None:
    """Print one table."""
    drawn = Table(title=title)
    for column in table.columns:
        drawn.add_column(column.replace("_", " "), justify="left" if column == "way" else "right")
    for row in table.itertuples(index=False):
        drawn.add_row(*(str(value) for value in row))
    print_table(drawn)


if __name__ == "__main__":
    run_command(main)
