"""Memory of the sequential way does not grow with the number of environments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas", reason="the benchmark that measures needs the extra 'experiments'")


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from Linux's /proc"
)
def test_peak_at_512_environments_is_that_at_8(root: Path) -> None:
    """Within 10 % beyond the batch itself, which is 4.25 MB at 512 environments."""
    peaks = {}
    for n_environments in (8, 512):
        script = str(root / "scripts" / "benchmark_gradients.py")
        command = [sys.executable, script, "--measure", "sequential", str(n_environments)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks[n_environments] = float(answer.stdout.split()[0]) - n_environments * 64 * 34 * 4 / 2**20
    assert peaks[512] < 1.1 * peaks[8]
