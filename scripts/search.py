"""Search hyperparameters until ``conf/search/EXPERIMENT/NAME.yaml`` has its number of completed trials.

    python scripts/search.py spirals/and_mask --workers 2
    python scripts/search.py spirals/and_mask dataset.n_environments=8 --output outputs/eight
    python scripts/search.py spirals/and_mask --export
    python scripts/search.py spirals/and_mask --storage postgresql://me@host/optuna

Every trial has a run folder under ``outputs/search/NAME/trials/``. If the search is killed, the same command
continues it: trials that had begun go on in their folders with the same parameters. At the end,
``trials.csv`` lists all trials and ``best.yaml`` holds the best configuration.

Overrides after the name hold for all trials and replace those of the file. Such a search is another one, so
it needs a folder of its own.

With ``--cluster slurm``, this process chooses the parameters, and the jobs in Slurm's queue only train.
With ``--storage``, a server keeps the trials. Then the same command may run many times at once, on every
machine that sees the folder. Together, these processes complete the number of trials that the file asks for.
If a process dies, another one takes over its trials.

``--export`` trains nothing. It writes the present trials to
``results/EXPERIMENT/search/NAME_trials.csv``, and the best settings to the file of all settings of the
search, from which ``tuned=searched/NAME`` takes them.
"""

from __future__ import annotations

import dataclasses
import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ilc.errors import UserError
from lab.configuration.command_line import command_parser, report_command, run_command
from lab.configuration.searched_settings import RESULTS
from lab.runs.one_run.run_files import OUTPUTS
from lab.runs.pool.command_line import add_workers_options, chosen_workers
from lab.runs.search.files import outcome, result_files, search_files
from lab.runs.search.loop import search
from lab.runs.search.search_definition import with_overrides
from lab.runs.search.search_file import load_definition, search_names
from lab.runs.tables.export import write_results_files

if TYPE_CHECKING:
    from lab.runs.search.server import Server


def main() -> None:
    """Search, or export a search."""
    parser = command_parser(__doc__)
    parser.add_argument("name", nargs="?", help="a search below conf/search, or a path that ends in .yaml")
    parser.add_argument("overrides", nargs="*", help="overrides of all trials, such as optimizer.lr=0.01")
    parser.add_argument("--trials", type=int, help="number of completed trials (default: as in the file)")
    add_workers_options(parser, n_workers=1)
    parser.add_argument("--output", type=Path, help="folder of the search (default: outputs/search/NAME)")
    parser.add_argument("--storage", help="postgresql://user@host/database, for one search on many machines")
    parser.add_argument("--export", action="store_true", help="train nothing, write the trials to results/")
    arguments = parser.parse_intermixed_args()
    if arguments.name is None:
        raise UserError(f"no search is named: choose one of {', '.join(search_names())}")
    definition = with_overrides(load_definition(arguments.name), arguments.overrides)
    if arguments.overrides and arguments.export:
        raise UserError("--export writes the search as its file defines it: leave out the overrides")
    if arguments.overrides and arguments.output is None:
        raise UserError(
            f"with overrides this is another search than {definition.name}: give it a folder with --output"
        )
    if arguments.trials is not None:
        definition = dataclasses.replace(definition, trials=arguments.trials)
    folder: Path = arguments.output or OUTPUTS / "search" / definition.name
    with nullcontext() if arguments.storage is None else connected(arguments.storage) as server:
        made_by = export_command(arguments.name, arguments.overrides, arguments.output)
        if arguments.export:
            files = result_files(definition, folder, RESULTS, server=server, made_by=made_by)
        else:
            search(definition, folder, chosen_workers(arguments, folder), server=server)
            table, tuned = folder / "trials.csv", folder / "best.yaml"
            files = search_files(definition, folder, table, tuned, server, made_by)
        for path in write_results_files(files, RESULTS):
            print(path)
        print(outcome(definition, folder, server))
    print(f"to see a report, run: {report_command(folder)}")


def export_command(name: str, overrides: list[str], output: Path | None) -> str:
    """Return the command that makes the files of a search. A search with overrides has no export."""
    folder = [] if output is None else ["--output", str(output)]
    ending = [] if overrides else ["--export"]
    return shlex.join(["python", "scripts/search.py", name, *overrides, *folder, *ending])


def connected(url: str) -> Server:
    """Return the server that keeps the trials."""
    from lab.runs.search.server import Server

    return Server(url)


if __name__ == "__main__":
    run_command(main)
