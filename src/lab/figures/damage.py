"""A file under ``results/`` that is not what a figure expects: one line that names it, no traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile

from ilc.errors import UserError
from lab.figures.gallery import files_read

ERRORS = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    EOFError,
    BadZipFile,
)
"""What drawing raises from tables that are empty, cut, or have other columns; pandas' own are ValueErrors."""

NAMED = 3
"""As many files as a message names."""


def is_data(file: str) -> bool:
    """Whether a file below ``results/`` is data: neither a figure nor a table drawn from data."""
    return not {"figures", "tables"} & set(Path(file).parts)


@contextmanager
def one_line_if_damaged(what: str, results: Path) -> Iterator[set[str]]:
    """Around whatever draws ``what`` from files below ``results``; yields those that it opens.

    Raises:
        UserError: it cannot be drawn from them.
    """
    with files_read(results) as files:
        try:
            yield files
        except UserError:
            raise
        except ERRORS as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            data = sorted(filter(is_data, files))
            named = ", ".join(data[:NAMED]) + (", ..." if len(data) > NAMED else "")
            raise UserError(
                f"{what} cannot be made from {results} ({reason}). It reads {named or 'no file'}: put back "
                "the committed files, or make them anew (HYDRA_FULL_ERROR=1 shows where it failed)"
            ) from error
