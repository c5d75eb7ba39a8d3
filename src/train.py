"""Train one experiment: ``python src/train.py experiment=spirals aggregator=and_mask seed=0``.

Several runs, one after another, without those that are done: ``python src/train.py -m seed=0,1,2``. One run
in several processes: ``torchrun --nproc_per_node=2 src/train.py ...``. If the command is asked to stop
(SIGTERM, SIGUSR1, Ctrl-C), it finishes its step, writes a checkpoint and exits with status 75. The same
command continues.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from ilc.errors import UserError
from lab.configuration import register_resolvers
from lab.configuration.command_line import (
    mistake_before_hydra,
    print_error,
    report_command,
    run_command,
    several_processes,
)
from lab.configuration.overrides import check_no_dashes, check_overrides, folder_in, key_of
from lab.configuration.searched_settings import store_searched_settings

register_resolvers()

SWEEP = ("-m", "--multirun")
HELP = ("-h", "--help")
OUTPUT = "hydra.sweep.dir="
NO_SUCH_FLAG = 2  # the status of argparse, with which Hydra reads flags such as --help


@hydra.main(config_path="../conf", config_name="config", version_base="1.3")
def one_run(config: DictConfig) -> None:
    """Run what the config describes and print where the results are."""
    # Imported late: torch takes longer to load than the command line's help may.
    from lab.configuration.compose import command_of, tuned_settings
    from lab.configuration.resolve import resolve
    from lab.report.curves_picture import draw_curves
    from lab.runs import run

    hydra_config = HydraConfig.get()
    path = Path(hydra_config.runtime.output_dir)
    # Where an experiment of somebody else's lies is a part of the command that repeats its run.
    places = [text for text in hydra_config.overrides.hydra if text.startswith("hydra.searchpath=")]
    is_writer = os.environ.get("RANK", "0") == "0"
    settings = tuned_settings(hydra_config.runtime.choices)
    if settings is not None and is_writer:
        print(settings)
    with mistake_before_hydra():
        run(resolve(config), path, command_of([*places, *hydra_config.overrides.task]))
    if is_writer:
        draw_curves(path)
        print(f"to see a report, run: {report_command(path)}")
        print(path)


def sweep(arguments: list[str]) -> None:
    """Make every combination of the overrides, one run after another.

    Raises:
        HydraException: an override that does not fit.
        UserError: runs that failed; the others were made all the same. Or torchrun started this.
    """
    if several_processes():
        raise UserError(
            "-m makes one run after another, but torchrun makes one run in several processes: use only one "
            "of them"
        )
    from lab.environment_task.equal_thresholds import warn_of_equal_thresholds
    from lab.environment_task.swept_aggregators import check_swept_aggregators
    from lab.runs.one_run.run_files import OUTPUTS
    from lab.runs.sweep.sweep import make_in_turn, plan

    places = [text for text in arguments if text.startswith(OUTPUT)]
    overrides = [text for text in arguments if text not in (*SWEEP, *places)]
    flags = [text for text in overrides if text.startswith("-")]
    if flags:
        raise UserError(f"-m accepts only overrides (KEY=VALUE): leave {flags[0]} out")
    folders = [folder_in(text) for text in places]
    output = folders[-1] if folders else OUTPUTS
    runs = plan(overrides, output)
    check_swept_aggregators(runs.values())
    warn_of_equal_thresholds(runs.values())
    failures = make_in_turn(runs)
    print(f"to see a report, run: {report_command(output)}")
    if failures:
        folder, message = next(iter(failures.items()))
        raise UserError(f"{len(failures)} of {len(runs)} runs failed. The first one, {folder}: {message}")


def command(arguments: list[str]) -> None:
    """One run, a sweep where ``-m`` is among the arguments, or Hydra's help."""
    store_searched_settings(arguments)
    if set(HELP) & set(arguments):
        sys.argv[1:] = [text for text in arguments if text not in SWEEP]
    elif set(SWEEP) & set(arguments):
        sweep(arguments)
        return
    else:
        for text in arguments:
            check_no_dashes(text)
        if not any(text.startswith("-") for text in arguments):
            check_overrides(arguments)
        if any(key_of(text) == "hydra.sweep.dir" for text in arguments):
            raise UserError(
                "hydra.sweep.dir names the folder of a sweep, and this is one run: name its folder with "
                "hydra.run.dir=FOLDER, or make a sweep with -m"
            )
    try:
        one_run()
    except SystemExit as stop:
        if stop.code == NO_SUCH_FLAG:
            print_error("options are written KEY=VALUE, such as trainer.max_epochs=3; --help lists them")
        raise


if __name__ == "__main__":
    run_command(lambda: command(sys.argv[1:]))
