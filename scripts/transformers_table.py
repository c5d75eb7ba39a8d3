"""The table in docs/transformers.md: models of transformers in every way, each beside a plain loop.

    python scripts/transformers_table.py

Needs the extra 'transformers'. Nothing is downloaded: the models are tiny and have random weights. Writes the
table into the page. Status 1 if a way is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]


def main() -> None:
    """Compare, print, write."""
    from lab.configuration.command_line import command_parser

    command_parser(__doc__).parse_args()
    from lab.machine.transformers_import import import_transformers

    import_transformers("this table")
    from hugging_face import page
    from hugging_face.comparison import cells
    from hugging_face.models import MODELS
    from lab.files.atomic import write_text

    rows = {}
    for kind in MODELS:
        rows[kind] = cells(kind)
        print(f"{kind}: {', '.join(f'{way} {cell}' for way, cell in rows[kind].items())}")
    write_text(page.PAGE, page.written(rows))
    raise SystemExit(any(cell.startswith("wrong") for row in rows.values() for cell in row.values()))


if __name__ == "__main__":
    from lab.configuration.command_line import run_command

    run_command(main)
