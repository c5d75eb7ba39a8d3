"""Freed memory stays with the process."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# A process of its own: what the C library was told stays. Tensors of 44 MB, because the C library gives
# pieces above 32 MB back each time, whatever it has learnt of the program.
_PAGES = """
import resource, sys
import torch
from lab.machine.memory_reuse import keep_freed_memory

def pages_of(n_steps):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(n_steps):
        tensors = [torch.ones(11 * 2**20) for _ in range(2)]
        del tensors
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if sys.argv[1] == "keep":
    keep_freed_memory()
pages_of(8)
print(pages_of(5))
"""


def _pages(what: str) -> int:
    run = subprocess.run([sys.executable, "-c", _PAGES, what], capture_output=True, text=True, check=True)
    return int(run.stdout)


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_the_next_step_takes_pages_that_are_there() -> None:
    assert _pages("keep") < _pages("leave") / 10
