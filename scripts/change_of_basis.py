"""The table of docs/transformers.md on other factors of LoRA's product: how far they move an update.

    python scripts/change_of_basis.py
    python scripts/change_of_basis.py --cost

Measures one layer in double precision and writes the table into the page. With --cost it prints the time of a
step with ``product_basis`` beside a plain one (extra 'transformers') and writes nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]


def main() -> None:
    """Measure, print, write."""
    from lab.configuration.command_line import command_parser

    parser = command_parser(__doc__)
    parser.add_argument(
        "--cost",
        action="store_true",
        help="print the time of a step, relative to plain training, and write nothing",
    )
    if parser.parse_args().cost:
        from change_of_basis.cost import print_ratios

        print_ratios()
        return
    from change_of_basis import page
    from change_of_basis.movement import ROWS, row
    from lab.files.atomic import write_text

    rows = {}
    for name in ROWS:
        rows[name] = row(name)
        print(f"{name}: {', '.join(map(page.cell, rows[name].values()))}")
    write_text(page.PAGE, page.written(rows))


if __name__ == "__main__":
    from lab.configuration.command_line import run_command

    run_command(main)
