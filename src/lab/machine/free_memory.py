"""Whether something fits into memory, asked before it is made: afterwards the system ends the process."""

from __future__ import annotations

import os
from pathlib import Path

from ilc.errors import UserError


def check_memory(what: str, n_bytes: float, remedy: str) -> None:
    """Raise UserError where something takes more memory than is free.

    Args:
        what: takes it, for the message.
        n_bytes: it takes at its most, about.
        remedy: what to make smaller.
    """
    free = free_memory()
    if n_bytes > free:
        raise UserError(
            f"{what} of this size takes about {n_bytes / 1e9:,.1f} GB of memory, {free / 1e9:,.1f} GB are "
            f"free: {remedy}"
        )


def free_memory() -> int:
    """Bytes that could be had now; on systems that do not say, all there are."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
