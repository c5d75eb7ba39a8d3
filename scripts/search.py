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
from pathlib import Path

from ilc.configuration.command_line import run_command
from ilc.configuration.compose import compose_experiment
from ilc.configuration.groups import CONF
from ilc.runs.export import write_files
from ilc.runs.search.definition import Definition, load_definition
from ilc.runs.search.loop import search
from ilc.runs.search.storage import open_storage
from ilc.runs.search.table import best_trial, tabulate_trials
from ilc.runs.search.trial import overrides_of
from ilc.runs.search.tuned import tuned_config

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Search, or export."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", help="a file in conf/search, or the path of one, which ends in .yaml")
    parser.add_argument("--trials", type=int, help="completed trials wanted (default: the file's)")
    parser.add_argument("--workers", type=int, default=1, help="processes, one core each (default: 1)")
    parser.add_argument("--output", type=Path, help="folder of the search (default: outputs/search/NAME)")
    parser.add_argument("--export", action="store_true", help="train nothing, write results/ and conf/tuned/")
    arguments = parser.parse_args()
    definition = load_definition(arguments.name)
    if arguments.trials is not None:
        definition = dataclasses.replace(definition, trials=arguments.trials)
    folder: Path = arguments.output or ROOT / "outputs" / "search" / definition.name
    if arguments.export:
        experiment = compose_experiment(overrides_of(definition, {}))["name"]
        table = ROOT / "results" / experiment / "search" / f"{definition.name}_trials.csv"
        report(definition, folder, table, CONF / "tuned" / "searched" / f"{definition.name}.yaml")
    else:
        search(definition, folder, arguments.workers)
        report(definition, folder, folder / "trials.csv", folder / "best.yaml")


def report(definition: Definition, folder: Path, table: Path, config: Path) -> None:
    """Write the table of all trials and the best configuration."""
    stored = open_storage(definition, folder)
    trials = tabulate_trials(stored, definition, folder)
    content = tuned_config(stored, trials, definition)
    best = best_trial(trials, definition)
    counts = ", ".join(f"{n} {str(state).lower()}" for state, n in trials.state.value_counts().items())
    print(f"{definition.name}: {counts}; best: trial {best.number}, {definition.metric} {best.value:.6g}")
    write_files({table: trials.to_csv(index=False).encode(), config: content.encode()})


if __name__ == "__main__":
    run_command(main)
