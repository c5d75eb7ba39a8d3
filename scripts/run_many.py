"""Make several runs at a time, one core each. ``python src/train.py -m`` makes the same runs one by one.

    python scripts/run_many.py experiment=spirals tuned=searched/spirals/l1 'seed=range(0,50)' --workers 2

The script takes the same overrides as ``src/train.py -m`` and writes the same run folders. It skips runs that
are done and continues runs that were interrupted. A run that fails does not stop the others. With
``--cluster slurm``, Slurm makes the runs as an array of jobs. With ``--to results/x``, the script also writes
two tables: ``results/x_runs.csv`` with a row per run, and ``results/x_curves.csv`` with a row per evaluation.
The options that have several values are columns of both; for a choice such as ``optimizer=adam,sgd``, add
its name with ``--columns optimizer.name``.
"""

from __future__ import annotations

from pathlib import Path

from ilc.errors import UserError
from lab.configuration.command_line import command_parser, report_command, run_command
from lab.configuration.searched_settings import RESULTS
from lab.environment_task.equal_thresholds import warn_of_equal_thresholds
from lab.environment_task.swept_aggregators import check_swept_aggregators
from lab.files.atomic import check_file_path
from lab.runs.one_run.run_files import LOG, OUTPUTS
from lab.runs.pool.command_line import add_workers_options, chosen_workers
from lab.runs.pool.jobs_progress import JobsProgress
from lab.runs.study.own_tables import check_no_folder, tables_prefix
from lab.runs.sweep.sweep import WORKER, check_keys_of_workers, make, plan
from lab.runs.sweep.swept_keys import swept_keys
from lab.runs.tables.columns import check_columns
from lab.runs.tables.export import as_files, export_runs, write_results_files


def main() -> None:
    """Make all runs that are not done yet."""
    parser = command_parser(__doc__)
    parser.add_argument("overrides", nargs="+", help="the overrides of src/train.py -m")
    add_workers_options(parser, n_workers=2)
    parser.add_argument(
        "--output", type=Path, default=OUTPUTS, help="folder of the run folders (default: outputs)"
    )
    parser.add_argument("--to", type=Path, help="path of the tables, with or without the ending _runs.csv")
    parser.add_argument(
        "--columns", nargs="+", default=[], help="more config keys in --to's tables, such as optimizer.lr"
    )
    arguments = parser.parse_intermixed_args()
    check_keys_of_workers(arguments.overrides)
    check_file_path(arguments.output / "run")
    to = None if arguments.to is None else tables_prefix(arguments.to)
    workers = chosen_workers(arguments, arguments.output)
    runs = plan([*arguments.overrides, *WORKER], arguments.output)
    if to is not None:
        check_no_folder(to, runs)
    check_columns("--columns", arguments.columns, runs.values())
    check_swept_aggregators(runs.values())
    warn_of_equal_thresholds(runs.values())
    missing = {folder: own for folder, own in runs.items() if not (folder / "done").exists()}
    with JobsProgress("runs", len(runs), len(runs) - len(missing)) as progress:
        failures = make(missing, workers, progress)
    print(f"{len(runs) - len(failures)} of {len(runs)} runs are done, under {arguments.output}")
    print(f"to see a report, run: {report_command(arguments.output)}")
    if failures:
        logs = {folder: f" (log: {folder / LOG})" for folder in failures if (folder / LOG).exists()}
        lines = [f"{folder}: {message}{logs.get(folder, '')}" for folder, message in failures.items()]
        raise UserError(f"{len(failures)} runs failed:\n  " + "\n  ".join(lines))
    if to is not None:
        columns = dict.fromkeys([*swept_keys(runs.values()), *arguments.columns])
        tables = as_files(*export_runs(runs, columns), to)
        for path in write_results_files(tables, RESULTS):
            print(path)


if __name__ == "__main__":
    run_command(main)
