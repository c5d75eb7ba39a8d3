"""The claims on costs are computed from the benchmark's table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.experiments.cost.claims import complexity, exact_votes


def _write(folder: Path, by_environments: list[float], by_examples: list[float], peak: float) -> None:
    """32, 128 and 512 environments of 16 examples; 32 environments of 4, 16, 64 and 256."""
    sizes = {(e, 16): ratio for e, ratio in zip((32, 128, 512), by_environments, strict=True)}
    sizes |= {(32, n): ratio for n, ratio in zip((4, 16, 64, 256), by_examples, strict=True)}
    rows = [
        {"environments": e, "examples": n, "way": way, "times_plain": ratio, "step_peak_mb": memory}
        for (e, n), masked in sizes.items()
        for way, ratio, memory in (("plain training", 1.0, 100.0), ("vectorized", masked, peak))
    ]
    table = pd.DataFrame(rows).assign(model="perceptron 3 x 256")
    votes = {"plain training": 1.0, "per_example": 2.46, "per_example_loss": 57.0}
    network = pd.DataFrame({"way": list(votes), "times_plain": list(votes.values())})
    network = network.assign(model="FastResNet, BatchNorm", environments=80, examples=1, step_peak_mb=50.0)
    other = pd.DataFrame({"way": ["plain training", "vectorized"], "times_plain": [1.0, 2.0]})
    other = other.assign(model="another", environments=3, examples=8, step_peak_mb=[60.0, 180.0])
    network = pd.concat([network, other], ignore_index=True)
    table = pd.concat([table, network], ignore_index=True).assign(device="cpu", threads=2)
    # Where a peak could not be told from noise there is none.
    table.loc[table.environments == 32, "step_peak_mb"] = None
    (folder / "cost").mkdir()
    table.to_csv(folder / "cost" / "gradients.csv", index=False)


def test_the_numbers_are_those_of_the_table(tmp_path: Path) -> None:
    _write(tmp_path, [3.0, 2.9, 3.1], [6.0, 3.0, 2.0, 1.4], 90.0)
    (claim,) = complexity.claims(tmp_path)
    assert claim.verdict.startswith(
        "in part: linear on a perceptron, but 1.40 to 6.00 times a plain pass, 57 times"
    )
    assert claim.number == "1.40 to 6.00 times a plain pass, 57 times with exact votes under BatchNorm"
    assert "peak memory is 90 MB, and that of the plain pass is 100 MB" in claim.ours
    assert "local vote takes 2.46 times as long, and the exact vote 57 times" in claim.ours
    assert "another needs the most memory, 3.00 times a plain step's" in claim.ours


def test_a_ratio_that_grows_is_seen(tmp_path: Path) -> None:
    _write(tmp_path, [3.0, 9.0, 36.0], [6.0, 3.0, 2.0, 1.4], 400.0)
    assert complexity.claims(tmp_path)[0].verdict == "not reproduced"


def test_exact_votes_are_a_finding_that_warns(tmp_path: Path) -> None:
    _write(tmp_path, [3.0, 2.9, 3.1], [6.0, 3.0, 2.0, 1.4], 90.0)
    (claim,) = exact_votes.claims(tmp_path)
    assert (claim.verdict, claim.number) == ("holds", "57 and 2.5 times a plain pass")
    assert claim.finding and claim.warning
