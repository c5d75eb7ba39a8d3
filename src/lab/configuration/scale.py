"""The two sizes of an experiment."""

from ilc.errors import UserError

SCALES = ("small", "paper")


def check_scale(scale: str) -> str:
    """Check a scale, and return it.

    Raises:
        UserError: there is no such scale.
    """
    if scale not in SCALES:
        raise UserError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    return scale
