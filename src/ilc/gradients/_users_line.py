"""Where in the user's code a warning belongs."""

import sys


def stacklevel_of_the_user() -> int:
    """Return the ``stacklevel`` with which the calling function warns at the user's line.

    It is that of the first caller outside this package and outside ``contextlib``.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in ("ilc", "contextlib"):
        frame, level = frame.f_back, level + 1
    return level
