"""Make the files behind a figure or table, as a study describes them.

A study is a file ``conf/study/EXPERIMENT/NAME.yaml`` with runs, searches and measurements.

    python scripts/study.py --list
    python scripts/study.py spirals_demo --workers 2

The runs of a study are in ``outputs/study/NAME``. Its files are written to ``results/``, or to the folder
that ``--results`` names, whenever a job ends. The script does not repeat what these files already hold. So
the same command continues wherever it was killed, also on another machine. To repeat everything, write to
another folder, for example with ``--results anew``. ``--export`` makes no runs and writes those that are
done. With ``--cluster slurm``, Slurm makes the jobs of a step as an array.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path, PurePosixPath

from rich.table import Table

from ilc.errors import UserError
from lab.configuration.command_line import command_parser, run_command
from lab.configuration.searched_settings import RESULTS
from lab.runs.one_run.run_files import OUTPUTS
from lab.runs.pool.command_line import add_workers_options, chosen_workers
from lab.runs.study.make import make_study, write_results
from lab.runs.study.study_file import experiment_of, load_study, study_names
from lab.terminal.printed_table import print_table


def main() -> None:
    """List the studies, or make or export one."""
    parser = command_parser(__doc__)
    parser.add_argument("name", nargs="?", help="a study below conf/study, or a path that ends in .yaml")
    add_workers_options(parser, n_workers=1)
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="folder of the files (default: results)"
    )
    parser.add_argument("--output", type=Path, help="folder of the runs (default: outputs/study/NAME)")
    parser.add_argument("--export", action="store_true", help="make no runs, write those that are done")
    parser.add_argument("--list", action="store_true", help="show all studies")
    arguments = parser.parse_args()
    if arguments.list:
        print_table(table())
        return
    if arguments.name is None:
        raise UserError(
            f"no study is named: choose one of {', '.join(study_names())} (--list shows what each makes)"
        )
    study = load_study(arguments.name)
    folder: Path = arguments.output or OUTPUTS / "study" / study.name
    if not arguments.export:
        make_study(study, folder, arguments.results, chosen_workers(arguments, folder))
    write_results(study, folder, arguments.results)


def table() -> Table:
    """Return a table of all studies by experiment: their files, their rough cost and their subject."""
    result = Table()
    for column in ("study", "experiment", "makes, below results/", "cost", "about"):
        result.add_column(column, overflow="fold")
    for before, name in pairwise(["", *study_names()]):
        study = load_study(name)
        if before and experiment_of(before) != experiment_of(name):
            result.add_section()
        result.add_row(name, experiment_of(name), shortened(study.files), study.cost, study.about)
    return result


def shortened(files: tuple[str, ...]) -> str:
    """Return the names of the files, or their number for a folder with more than three."""
    folders = Counter(PurePosixPath(file).parent for file in files)
    parts = []
    for folder, n in folders.items():
        own = [file for file in files if PurePosixPath(file).parent == folder]
        parts += own if n <= 3 else [f"{folder}/: {n} files"]
    return ", ".join(parts)


if __name__ == "__main__":
    run_command(main)
