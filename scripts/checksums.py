"""Check the hashes of the committed results, or list files anew that were changed on purpose.

    python scripts/checksums.py
    python scripts/checksums.py results/spirals/demo_runs.csv results/spirals/demo_curves.csv

``results/SHA256SUMS`` is what ``sha256sum`` writes: ``cd results && sha256sum -c SHA256SUMS`` checks it too.
Studies and exports of searches list what they write by themselves; ``make figures`` draws nothing from files
that are not as listed. Files that are named and gone are listed no longer. A folder stands for all files
in it, also a folder that is gone. After a merge with a conflict in the list, name the files that both sides
changed.
"""

from __future__ import annotations

from pathlib import Path

from ilc.errors import UserError
from lab.configuration.command_line import command_parser, run_command
from lab.files.checksums import SUMS, check, refresh

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Check, or list anew and then check."""
    parser = command_parser(__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="files to list as they are now (default: check all)"
    )
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="folder of the CSV files")
    arguments = parser.parse_args()
    outside = [f for f in arguments.files if not f.resolve().is_relative_to(arguments.results.resolve())]
    if outside:
        raise UserError(f"{outside[0]} is not below {arguments.results}: name files there, or say --results")
    if arguments.files:
        refresh(arguments.results, arguments.files)
    print(f"{check(arguments.results)} files are what {arguments.results / SUMS} says")


if __name__ == "__main__":
    run_command(main)
