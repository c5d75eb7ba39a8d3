"""Tables that are printed as wide as the terminal, or in full width if there is no terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

UNWRAPPED = 10_000
"""A width in characters that is larger than that of any row."""


def print_table(table: Table) -> None:
    """Print a table. In a pipe or a file every row is one line, so that the lines can be searched."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=UNWRAPPED)
    console.print(table)
