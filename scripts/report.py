"""Make one HTML file about your runs: finished, running and failed ones. Open it from disk.

    python scripts/report.py                            all runs below outputs/
    python scripts/report.py outputs/spirals            the runs of one experiment
    python scripts/report.py outputs/search --to search.html

The file has a table of the runs, which shows their differences and the command that repeats each run. It also
shows curves, sweeps, searches and failures, and the repository's claims and figures. It needs no network and
no server. You can make the report while runs are under way: the same command writes it again.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from lab.configuration.command_line import command_parser, run_command
from lab.figures.claims import collect
from lab.figures.damage import one_line_if_damaged
from lab.files.atomic import check_file_path, write_text
from lab.report.committed import committed_figures
from lab.report.page import render
from lab.report.run_folders import find_runs
from lab.report.run_record import read_record
from lab.runs.one_run.run_files import OUTPUTS

RESULTS = Path(__file__).resolve().parents[1] / "results"


def main() -> None:
    """Read the runs and write the report."""
    parser = command_parser(__doc__)
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        default=[OUTPUTS],
        help="run folders, or folders above them (default: outputs)",
    )
    parser.add_argument(
        "--to",
        type=Path,
        default=OUTPUTS / "report.html",
        help="the file to write (default: outputs/report.html)",
    )
    arguments = parser.parse_args()
    check_file_path(arguments.to)
    records = [read_record(folder) for folder in find_runs(arguments.folders)]
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    made = f"Made {when} from {', '.join(map(str, arguments.folders))}."
    with one_line_if_damaged("the report's claims", RESULTS):
        claims = collect(RESULTS)
    page = render(records, claims, committed_figures(RESULTS), made)
    arguments.to.parent.mkdir(parents=True, exist_ok=True)
    write_text(arguments.to, page)
    counts = Counter(record.state for record in records)
    print(f"{len(records)} runs: {', '.join(f'{n} {state}' for state, n in counts.items())}")
    print(arguments.to)


if __name__ == "__main__":
    run_command(main)
