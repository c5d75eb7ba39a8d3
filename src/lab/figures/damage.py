"""Error messages for damaged files under ``results/``: one line that names the files, without a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile

from ilc.errors import UserError
from lab.figures.files_read import files_read

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
"""The errors of drawing from tables that are empty, cut off, or have other columns. The errors that pandas
defines are ValueErrors."""

NAMED = 3
"""The largest number of files that a message names."""


def is_data(file: str) -> bool:
    """Return whether a file below ``results/`` is data, and not a figure or table made from data."""
    return not {"figures", "tables"} & set(Path(file).parts)


@contextmanager
def one_line_if_damaged(what: str, results: Path) -> Iterator[set[str]]:
    """Turn errors of the ``with`` block, which draws ``what``, into one line; yield the files that it opens.

    Raises:
        UserError: ``what`` cannot be drawn from the files below ``results``.
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
                "the committed files, or make them again (HYDRA_FULL_ERROR=1 shows where it failed)"
            ) from error
