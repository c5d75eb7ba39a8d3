"""A table, printed as wide as the terminal, or in full where there is none."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

UNWRAPPED = 10_000
"""Columns, more than any row has."""


def print_table(table: Table) -> None:
    """Print it; in a pipe or a file every row is one line, however long, so that it can be searched."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=UNWRAPPED)
    console.print(table)
