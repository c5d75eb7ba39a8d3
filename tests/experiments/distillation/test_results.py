"""Tables by replica, and how the claims are judged."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ilc.experiments.distillation.claims import labels, privileged
from ilc.experiments.distillation.results import FOLDER, by_replica

SHARED = {"experiment": "distillation", "method": "distill", "data_source": "generated", "seed": 0}


def test_columns_of_replicas_become_rows() -> None:
    table = pd.DataFrame(
        [
            SHARED | {"test/kl": 9.0, "n8/seed0/test/kl": 1.0, "best/n8/seed0/test/kl": 0.5},
            SHARED | {"test/kl": 9.0, "n8/seed1/test/kl": 2.0, "n8/seed0/test/kl": 3.0},
        ]
    )
    rows = by_replica(table)
    assert rows[["n_train", "seed"]].to_numpy().tolist() == [[8, 0], [8, 0], [8, 1]]
    assert rows["test/kl"].tolist() == [1.0, 3.0, 2.0]
    assert rows["best/test/kl"].iloc[0] == 0.5
    assert (rows.method == "distill").all()


def write(results: Path, name: str, runs: list[dict[str, object]]) -> Path:
    (results / FOLDER).mkdir(parents=True)
    pd.DataFrame([SHARED | run for run in runs]).to_csv(results / FOLDER / f"{name}_runs.csv", index=False)
    return results


@pytest.mark.parametrize(
    ("distilled", "bonus", "verdict"),
    [(0.05, 0.3, "reproduced"), (0.15, 0.3, "in part"), (0.05, 0.1, "in part"), (0.4, 0.3, "not reproduced")],
)
def test_the_claim_about_noisy_labels_looks_at_every_seed(
    distilled: float, bonus: float, verdict: str, tmp_path: Path
) -> None:
    def run(method: str, last: tuple[float, float], entropy: float = 0.0) -> dict[str, object]:
        values = {f"n9/seed{seed}/test/kl": value for seed, value in enumerate(last)}
        shared = {"dataset.logits_factor": 3.0, "teaching.split": "redrawn", "entropy_weight": entropy}
        return {"method": method, **shared, **values}

    runs = [
        run("distill", (0.01, distilled)),
        run("no_teacher", (1.0, 1.0)),
        run("fixed_teacher", (1.0, 1.0)),
        run("entropy_bonus", (0.9, 0.9), 0.1),
        run("entropy_bonus", (0.35, bonus), 1.0),
        run("entropy_bonus", (0.5, 0.5), 10.0),
    ]
    (claim,) = labels.claims(write(tmp_path, "labels", runs))
    assert claim.verdict == verdict
    assert "entropy bonus 1)" in claim.ours


@pytest.mark.parametrize(
    ("plain", "distilled", "verdict"),
    [
        ((0.50, 0.52, 0.60), (0.90, 0.94, 0.99), "reproduced"),
        ((0.50, 0.57, 0.60), (0.90, 0.94, 0.99), "in part"),
        ((0.50, 0.52, 0.60), (0.61, 0.80, 0.90), "in part"),
        ((0.50, 0.52, 0.60), (0.60, 0.80, 0.90), "not reproduced"),
    ],
)
def test_the_claim_about_noisy_privileged_data_looks_at_medians(
    plain: tuple[float, ...], distilled: tuple[float, ...], verdict: str, tmp_path: Path
) -> None:
    runs = []
    for method, best in (("no_teacher", plain), ("distill", distilled)):
        values = {f"best/n512/seed{seed}/test/accuracy": value for seed, value in enumerate(best)}
        runs.append({"method": method, "dataset.dimensions": 128, "teaching.split": "redrawn", **values})
    (claim,) = privileged.claims(write(tmp_path, "privileged", runs))
    assert claim.verdict == verdict
    assert "in 1 of 1 cells made here" in claim.ours
