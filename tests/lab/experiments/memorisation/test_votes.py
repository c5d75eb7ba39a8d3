"""The comparison of votes during training, in miniature."""

from __future__ import annotations

import pickle

import pandas as pd
import pytest

from lab.experiments.memorisation import votes_task
from lab.experiments.memorisation.measurements import votes


@pytest.mark.slow
def test_a_row_per_comparison_and_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(votes_task, "EVERY", 2)
    parts = pickle.loads(pickle.dumps(votes.parts(epochs=2, images=160, width=2)))
    assert list(parts) == ["true_labels", "random_labels"]
    table = pd.concat([part()["memorisation/votes.csv"] for part in parts.values()])
    assert table.label_noise.tolist() == 6 * [0.0] + 6 * [1.0]
    assert table.step.tolist() == 2 * (3 * [0] + 3 * [2])
    for _, same in table.groupby(["label_noise", "step"]):
        # A higher threshold keeps less, of either vote.
        assert same.threshold.is_monotonic_increasing
        for vote in ("exact", "local", "share"):
            assert same[f"kept_share_{vote}"].is_monotonic_decreasing
    for vote in ("local", "share"):
        assert table[f"overlap_{vote}"].between(0, 1).all()
        assert (table[f"overlap_{vote}"] < 1).any()
    # What one would compare with itself if a vote were taken under another's name.
    assert table.overlap_local.mean() > table.overlap_share.mean()
