"""The structural equations, the scales and the references."""

from __future__ import annotations

import pytest
import torch

from ilc.errors import UserError
from lab.data import make_linear_sem


def test_shapes_and_splits() -> None:
    data = make_linear_sem(examples_per_environment=50, n_test=20)
    assert data.inputs.shape == (2, 50, 4)
    assert data.targets.shape == (2, 50, 1)
    assert data.n_outputs == 1
    sizes = {name: len(split.inputs) for name, split in data.evaluation.items()}
    assert sizes == {
        "train_s0.1": 50,
        "train_s1": 50,
        "test_s0.01": 20,
        "test_s0.1": 20,
        "test_s1": 20,
        "test": 60,
    }
    assert data.references == pytest.approx(
        {"best/loss_s0.01": 2e-4, "best/loss_s0.1": 0.02, "best/loss_s1": 2.0}
    )


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_covariances_are_those_of_the_equations(scale: float) -> None:
    data = make_linear_sem(examples_per_environment=200_000, n_test=1)
    split = data.evaluation[f"train_s{scale:g}"]
    observed = torch.cat([split.inputs, split.targets], dim=1).double().T.cov()
    v = scale**2
    # Rows X1, X2, Z1, Z2, the sum of Y.
    expected = torch.tensor(
        [
            [v, 0, v, 0, v],
            [0, v, 0, v, v],
            [v, 0, 2 * v + 1, 0, 2 * v],
            [0, v, 0, 2 * v + 1, 2 * v],
            [v, v, 2 * v, 2 * v, 4 * v],
        ],
        dtype=torch.float64,
    )
    torch.testing.assert_close(observed, expected, atol=0.03, rtol=0.03)


def test_the_best_predictor_without_z_reaches_the_reference() -> None:
    data = make_linear_sem(n_test=200_000, examples_per_environment=1)
    for scale in ("0.01", "0.1", "1"):
        split = data.evaluation[f"test_s{scale}"]
        risk = float((split.inputs[:, :2].sum(1, keepdim=True) - split.targets).square().mean())
        assert risk == pytest.approx(data.references[f"best/loss_s{scale}"], rel=0.02)


def test_seeds() -> None:
    one, same, other = (make_linear_sem(seed, examples_per_environment=9, n_test=9) for seed in (1, 1, 2))
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()


def test_more_environments_lie_between() -> None:
    data = make_linear_sem(n_environments=3, examples_per_environment=5, n_test=5)
    assert [name for name in data.evaluation if name.startswith("train")] == [
        "train_s0.1",
        "train_s0.316228",
        "train_s1",
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"n_environments": 1},
        {"n_test": 0},
        {"smallest_scale": 2.0},
        {"source": "mnist"},
    ],
)
def test_errors(options: dict[str, object]) -> None:
    with pytest.raises(UserError, match="dataset\\."):
        make_linear_sem(**options)  # type: ignore[arg-type]
