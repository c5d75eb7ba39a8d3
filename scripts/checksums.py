"""Check the hashes of the committed results, or renew the hashes of files that changed on purpose.

    python scripts/checksums.py
    python scripts/checksums.py results/spirals/demo_runs.csv results/spirals/demo_curves.csv

The first command checks all files. The second one writes the present hashes of the named files into the list
``results/SHA256SUMS``. The list has the format of ``sha256sum``, so ``cd results && sha256sum -c SHA256SUMS``
checks it too. Studies and exports of searches list the files that they write. ``make figures`` draws nothing
if a file differs from the list.

A named file that no longer exists is removed from the list. A folder stands for all files in it, even if the
folder no longer exists. After a merge with a conflict in the list, name the files that both sides changed.
"""

from __future__ import annotations

from pathlib import Path

from ilc.errors import UserError
from lab.configuration.command_line import command_parser, run_command
from lab.files.checksums import SUMS, check, check_named, refresh

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Check the list. If files are named, renew their hashes first."""
    parser = command_parser(__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="files whose hashes are renewed (default: none, only check)"
    )
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="folder of the CSV files")
    arguments = parser.parse_args()
    outside = [f for f in arguments.files if not f.resolve().is_relative_to(arguments.results.resolve())]
    if outside:
        raise UserError(
            f"{outside[0]} is not below {arguments.results}: name files below it, or set another folder with "
            "--results"
        )
    if arguments.files:
        check_named(arguments.results, arguments.files)
        refresh(arguments.results, arguments.files)
    print(f"{check(arguments.results)} files match {arguments.results / SUMS}")


if __name__ == "__main__":
    run_command(main)
