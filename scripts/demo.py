"""Show the paper's claim in minutes: the mean learns shortcuts, and the AND-mask learns the mechanism.

    python scripts/demo.py

It trains with both on the spirals at the paper's size, at the same time and with one core each. Then it
prints a table and saves a figure. Everything is written to ``outputs/demo``. If the command is stopped or
killed, the same command continues.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from ilc.errors import UserError
from lab.configuration.command_line import command_parser, run_command
from lab.experiments.spirals.figures.demo import draw_curves
from lab.figures.style import LABELS
from lab.files.atomic import write_atomically
from lab.machine.stop_signals import finish_first
from lab.runs.one_run.run_files import OUTPUTS, read_summary
from lab.runs.pool.job import Job
from lab.runs.pool.workers import Workers
from lab.runs.sweep.sweep import WORKER, train
from lab.runs.tables.export import export_runs
from lab.terminal.printed_table import print_table

OUTPUT = OUTPUTS / "demo"
AGGREGATORS = ("mean", "and_mask")


def main() -> None:
    """Train, print the table and draw the figure."""
    command_parser(__doc__).parse_args()
    console = Console()
    console.print("Spirals at the paper's size: 32 environments x 1,280 examples, 2 revolutions.")
    console.print("This takes one to two minutes on two slow cores.")
    with (
        finish_first(),
        Progress(console=console, disable=not console.is_terminal) as progress,
        Workers[dict[str, Any]](len(AGGREGATORS)) as workers,
    ):
        tasks = {name: progress.add_task(f"{LABELS[name]:22}", total=None) for name in AGGREGATORS}
        for name in AGGREGATORS:
            workers.start(job(name))
        while workers.n_busy:
            for name, result in workers.wait(seconds=0.5):
                if isinstance(result, UserError):
                    raise UserError(f"the run of {name} failed: {result}")
            show(progress, tasks)
    print_table(table())
    console.print(f"figure: {figure()}")


def job(aggregator: str) -> Job[dict[str, Any]]:
    """Return the job of one run. It trains for all epochs, to show that nothing changes later."""
    choice = f"aggregator={aggregator}"
    overrides = ["experiment=spirals", choice, "trainer.stop_when_memorised=false", *WORKER]
    return Job(aggregator, partial(train, overrides, OUTPUT / aggregator), OUTPUT / f"{aggregator}.log")


def show(progress: Progress, tasks: dict[str, TaskID]) -> None:
    """Move the progress bars to the newest evaluations."""
    for name, task in tasks.items():
        metrics = OUTPUT / name / "metrics.jsonl"
        if metrics.exists():
            epochs = len(metrics.read_bytes().splitlines())
            progress.update(task, completed=epochs, total=3000 // 32)


def table() -> Table:
    """Return a table of train and test accuracy, epochs and seconds of each run."""
    result = Table(title="Spirals, seed 0, last epoch")
    for column in ("aggregator", "train accuracy", "test accuracy", "epochs", "seconds"):
        result.add_column(column, justify="left" if column == "aggregator" else "right")
    for name in AGGREGATORS:
        summary = read_summary(OUTPUT / name)
        result.add_row(
            LABELS[name],
            f"{summary['train/accuracy']:.1%}",
            f"{summary['test/accuracy']:.1%}",
            str(summary["epoch"]),
            f"{summary['wall_seconds']:.0f}",
        )
    return result


def figure() -> Path:
    """Draw the curves of both runs and return the path of the picture."""
    runs, curves = export_runs([OUTPUT / name for name in AGGREGATORS])
    path = OUTPUT / "demo.png"
    drawn = draw_curves(curves, runs)
    write_atomically(path, lambda file: drawn.savefig(file, format="png"))
    return path


if __name__ == "__main__":
    run_command(main)
