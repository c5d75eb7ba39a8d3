"""Search hyperparameters: as many completed trials as ``conf/search/NAME.yaml`` asks for.

    python scripts/search.py spirals_and_mask --workers 2
    python scripts/search.py spirals_and_mask --export

Every trial is a run folder under ``outputs/search/NAME/trials/``. Killed at any moment, the same
command continues: begun trials go on in their folders with the same parameters. At the end
``trials.csv`` lists all trials and ``best.yaml`` holds the best configuration. ``--export`` trains nothing
and writes both, as they stand, to ``results/EXPERIMENT/search/NAME_trials.csv`` and
``conf/tuned/searched/NAME.yaml``.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path

from optuna.trial import TrialState

from ilc.atomic import write_text
from ilc.configuration.command_line import run_command
from ilc.configuration.compose import compose_experiment
from ilc.errors import UserError
from ilc.search.definition import Definition, load_definition
from ilc.search.progress import SearchProgress
from ilc.search.report import best_trial, tabulate_trials, tuned_config
from ilc.search.study import open_study
from ilc.search.worker import check_overrides, overrides_of, work

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Search, or be one worker of a search, or export."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", help="a file in conf/search, or the path of one, which ends in .yaml")
    parser.add_argument("--trials", type=int, help="completed trials wanted (default: the file's)")
    parser.add_argument("--workers", type=int, default=1, help="processes, one core each (default: 1)")
    parser.add_argument("--output", type=Path, help="folder of the search (default: outputs/search/NAME)")
    parser.add_argument("--export", action="store_true", help="train nothing, write results/ and conf/tuned/")
    parser.add_argument("--worker", action="store_true", help="be one more worker, without progress")
    arguments = parser.parse_args()
    definition = load_definition(arguments.name)
    if arguments.trials is not None:
        definition = dataclasses.replace(definition, trials=arguments.trials)
    folder: Path = arguments.output or ROOT / "outputs" / "search" / definition.name
    if arguments.workers < 1:
        raise UserError(f"--workers must be at least 1, got {arguments.workers}")
    if arguments.worker:
        work(definition, folder)
    elif arguments.export:
        experiment = compose_experiment(overrides_of(definition, {}))["name"]
        table = ROOT / "results" / experiment / "search" / f"{definition.name}_trials.csv"
        report(definition, folder, table, ROOT / "conf" / "tuned" / "searched" / f"{definition.name}.yaml")
    else:
        search(definition, folder, arguments.workers, sys.argv[1:])
        report(definition, folder, folder / "trials.csv", folder / "best.yaml")


def search(definition: Definition, folder: Path, n_workers: int, arguments: list[str]) -> None:
    """Run workers until all have ended.

    Raises:
        UserError: a worker failed; what it said last is in the message.
    """
    check_overrides(definition)
    study = open_study(definition, folder)
    command = [sys.executable, __file__, *arguments, "--worker"]
    missing = definition.trials - len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
    logs = [folder / f"worker{i}.log" for i in range(min(n_workers, missing))]
    # What this process set to read its own errors would turn the workers' messages into tracebacks.
    environment = {key: value for key, value in os.environ.items() if key != "HYDRA_FULL_ERROR"}
    workers = []
    try:
        for path in logs:
            with path.open("ab") as log:
                workers.append(
                    subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
                )
        with SearchProgress(study, definition) as progress:
            while any(worker.poll() is None for worker in workers):
                progress.update()
                time.sleep(0.5)
            progress.update()
    finally:
        for worker in workers:
            worker.terminate()
    for worker, path in zip(workers, logs, strict=True):
        if worker.returncode:
            said = path.read_text(errors="replace").strip().splitlines()[-1:]
            raise UserError(f"a worker ended early, see {path}; the same command continues. {' '.join(said)}")


def report(definition: Definition, folder: Path, table: Path, config: Path) -> None:
    """Write the table of all trials and the best configuration."""
    study = open_study(definition, folder)
    trials = tabulate_trials(study, definition, folder)
    content = tuned_config(study, trials, definition)
    for path, text in ((table, trials.to_csv(index=False)), (config, content)):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    best = best_trial(trials, definition)
    counts = ", ".join(f"{n} {str(state).lower()}" for state, n in trials.state.value_counts().items())
    print(f"{definition.name}: {counts}; best: trial {best.number}, {definition.metric} {best.value:.6g}")
    print(table)
    print(config)


if __name__ == "__main__":
    run_command(main)
