"""The sequential way needs no more memory for more environments."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.experiments.cost.measurements.gradients import print_peak_of
from lab.experiments.step_cost import peak_in_own_process


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from Linux's /proc"
)
def test_peak_at_512_environments_is_that_at_8() -> None:
    """All gradients of 512 environments together would take 300 MB."""
    peaks = {}
    for n_environments in (8, 512):
        arguments = ("perceptron 3 x 256", "sequential", n_environments, 64, 3, "cpu", 1)
        first, peaks[n_environments], milliseconds = peak_in_own_process(print_peak_of, *arguments)
        assert first > 0
        assert milliseconds > 0
    assert 0 < peaks[512] < peaks[8] + 8
