"""Whether an object fits into memory.

The check comes before it is made: later the system kills the process.
"""

from __future__ import annotations

import os
from pathlib import Path

from ilc.errors import UserError


def check_memory(what: str, n_bytes: float, remedy: str) -> None:
    """Raise UserError if an object needs more memory than is free.

    Args:
        what: the object, for the message.
        n_bytes: the most memory that it needs, roughly.
        remedy: what the user can make smaller.
    """
    free = free_memory()
    if n_bytes > free:
        raise UserError(
            f"{what} of this size takes about {n_bytes / 1e9:,.1f} GB of memory, but only {free / 1e9:,.1f} "
            f"GB are free: {remedy}"
        )


def free_memory() -> int:
    """The number of bytes that are free now; on systems that do not tell, the size of the whole memory."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
