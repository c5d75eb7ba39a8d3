"""The error of a run whose training diverged, and the file that keeps its message.

This is the only failure by which a run counts as ended. Any other one, such as a damaged file, a wrong option
or too little memory, can be mended, so the run is tried again.
"""

from __future__ import annotations

from pathlib import Path

from ilc.errors import UserError
from lab.runs.one_run.run_files import FAILED

BEGINNING = "training diverged"
"""The first words of every such message. Earlier versions kept other messages in the same file."""


class DivergedError(UserError):
    """Training diverged: a number is not finite, or too large for float32. The same run would do so again.

    Args:
        what: the number, and what the user can do. The message begins with ``BEGINNING`` in any case.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what if what.startswith(BEGINNING) else f"{BEGINNING}: {what}")


def divergence(folder: Path) -> str | None:
    """The message of a run that diverged; None if the run did not, or is not known to have done so.

    Raises:
        UserError: the file with the message cannot be read.
    """
    path = folder / FAILED
    if not path.exists():
        return None
    try:
        message = path.read_text(errors="replace").strip()
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror or error}): remove it, and give the same command again"
        ) from error
    return message if message.startswith(BEGINNING) else None
