"""The claim on complexity: what it costs more may fall with the size of the problem, not grow."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lab.experiments.cost.claims.complexity import claims


def _write(folder: Path, by_environments: list[float], by_examples: list[float], peak: float) -> None:
    """32, 128 and 512 environments of 16 examples; 32 environments of 4, 16, 64 and 256."""
    sizes = {(e, 16): ratio for e, ratio in zip((32, 128, 512), by_environments, strict=True)}
    sizes |= {(32, n): ratio for n, ratio in zip((4, 16, 64, 256), by_examples, strict=True)}
    rows = [
        {"environments": e, "examples": n, "way": way, "times_plain": ratio, "step_peak_mb": memory}
        for (e, n), masked in sizes.items()
        for way, ratio, memory in (("plain training", 1.0, 100.0), ("vectorized", masked, peak))
    ]
    table = pd.DataFrame(rows).assign(model="perceptron 3 x 256", device="cpu", threads=2)
    # Where a peak could not be told from noise there is none.
    table.loc[table.environments == 32, "step_peak_mb"] = None
    (folder / "cost").mkdir()
    table.to_csv(folder / "cost" / "gradients.csv", index=False)


@pytest.mark.parametrize(
    ("by_environments", "by_examples", "peak", "verdict"),
    [
        ([3.0, 2.9, 3.1], [6.0, 3.0, 2.0, 1.4], 90.0, "reproduced"),
        ([3.0, 9.0, 36.0], [6.0, 3.0, 2.0, 1.4], 90.0, "in part: only in space"),
        ([3.0, 2.9, 3.1], [1.0, 3.0, 12.0, 50.0], 90.0, "in part: only in space"),
        ([3.0, 2.9, 3.1], [6.0, 3.0, 2.0, 1.4], 400.0, "in part: only in time"),
        ([3.0, 9.0, 36.0], [6.0, 3.0, 2.0, 1.4], 400.0, "not reproduced"),
    ],
)
def test_what_does_not_grow_is_the_same_complexity(
    by_environments: list[float], by_examples: list[float], peak: float, verdict: str, tmp_path: Path
) -> None:
    _write(tmp_path, by_environments, by_examples, peak)
    (claim,) = claims(tmp_path)
    assert claim.verdict == verdict
    assert claim.number.startswith(
        f"{by_environments[-1]:.1f} times a plain backward pass with 512 environments"
    )
    assert f"peak memory is {peak:.0f} MB, and that of the plain pass is 100 MB" in claim.ours
