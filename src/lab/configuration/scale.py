"""The two sizes of an experiment."""

from ilc.errors import UserError

SCALES = ("small", "paper")


def check_scale(scale: str) -> str:
    """The scale, if there is such a one.

    Raises:
        UserError: there is not.
    """
    if scale not in SCALES:
        raise UserError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    return scale
