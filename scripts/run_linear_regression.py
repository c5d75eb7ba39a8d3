"""The authors' linear regression: which solution each aggregator ends in, and how noise breaks the mask.

    python scripts/run_linear_regression.py              within a minute

writes ``results/consistency/linear_regression.csv`` (weights along training without noise) and
``linear_regression_noise.csv`` (final weights at several noise levels).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
import torch
from rich.progress import track
from torch import Tensor

from ilc.aggregators import Aggregator, AndMask, GeometricMean, Mean
from ilc.atomic import write_text
from ilc.configuration.command_line import run_command
from ilc.consistency.examples import linear_regression
from ilc.consistency.examples.many_seeds import Schedule, train_seeds
from ilc.seeding import generator_for

ROOT = Path(__file__).parents[1]
AGGREGATORS: dict[str, Aggregator] = {
    "mean": Mean(),
    "and_mask": AndMask(1.0),
    "geometric_mean": GeometricMean(1.0),
}
SCHEDULE = Schedule(lr=0.3, steps=1000, lr_decay=0.9995, weight_decay=0.01)
NOISE = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 0.3)
KEEP_EVERY = 10


def main() -> None:
    """Train and write both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "consistency")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.results.mkdir(parents=True, exist_ok=True)
    curves: list[dict[str, float | int | str]] = []
    finals: list[dict[str, float | int | str]] = []
    jobs = [(name, noise) for name in AGGREGATORS for noise in NOISE]
    for name, noise in track(jobs, description="Linear regression"):
        inputs = torch.stack(
            [linear_regression.make_inputs(noise, generator_for(s, "noise")) for s in range(arguments.seeds)]
        )
        final = _train(name, inputs, curves if noise == 0 else None)
        for seed, theta in enumerate(final):
            finals.append(
                {"aggregator": name, "noise": noise, "seed": seed, **_described(theta, inputs[seed])}
            )
    for file, rows in (("linear_regression", curves), ("linear_regression_noise", finals)):
        path = arguments.results / f"{file}.csv"
        write_text(path, pd.DataFrame(rows).to_csv(index=False, float_format="%.8g"))
        print(f"{path}: {len(rows)} rows")


def _train(name: str, inputs: Tensor, curves: list[dict[str, float | int | str]] | None) -> Tensor:
    n_seeds = len(inputs)
    start = torch.stack(
        [
            0.1 * torch.randn(5, generator=generator_for(s, "weights"), dtype=inputs.dtype)
            for s in range(n_seeds)
        ]
    )

    def watch(step: int, theta: Tensor) -> None:
        if curves is not None and step % KEEP_EVERY == 0:
            for seed in range(n_seeds):
                curves.append({"aggregator": name, "seed": seed, "step": step, **_weights(theta[seed])})

    def risk(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        del y
        return linear_regression.risk(theta, x)

    targets = torch.ones(inputs.shape[:2], dtype=inputs.dtype)
    return train_seeds(risk, risk, inputs, targets, start, AGGREGATORS[name], SCHEDULE, watch).parameters


def _weights(theta: Tensor) -> dict[str, float]:
    names = [f"private_{i + 1}" for i in range(len(theta) - 1)] + ["shared"]
    return dict(zip(names, theta.tolist(), strict=True))


def _described(theta: Tensor, inputs: Tensor) -> dict[str, float]:
    return _weights(theta) | {
        "train_risk": float(linear_regression.risk(theta, inputs).mean()),
        "test_risk": float(linear_regression.risk(theta, linear_regression.unseen_environment())),
    }


if __name__ == "__main__":
    run_command(main)
