"""Compare the two votes of an example during training: its loss's gradient, its share of the batch's.

    python scripts/compare_votes.py              writes results/cifar/votes.csv; five minutes on one core
    python scripts/compare_votes.py --epochs 2   a short look

Trains the network of ``experiment=cifar_random_labels`` with shares and a mask, on true and on random
labels, with BatchNorm. Every few steps both votes are taken on one and the same batch, in the same state.
Convolution and linear weights only: a bias in front of BatchNorm has no gradient but rounding.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
import torch
from rich.progress import Progress
from torch import nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, GradientStatistics
from ilc.atomic import write_text
from ilc.configuration.command_line import run_command
from ilc.data import ExampleBatches, make_labelled_images
from ilc.gradients import backward, example_loss, example_share
from ilc.gradients.vote_similarity import vote_similarity
from ilc.models import FastResNet
from ilc.runs.random_state import seed_everything
from ilc.seeding import generator_for

THRESHOLDS = (0.1, 0.2, 0.4)
MASK = AndMask(0.2, rescale=True)
LEARNING_RATE = 5e-4
BATCH_SIZE = 80


def compare(
    label_noise: float, seed: int, epochs: int, every: int, images: int, width: int, bar: Progress
) -> pd.DataFrame:
    """Train once; a row per comparison and threshold."""
    data = make_labelled_images(
        seed, source="procedural", n_environments=images, n_test=10, label_noise=label_noise
    )
    seed_everything(seed)
    model = FastResNet(3, 10, width)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    sampler = ExampleBatches(data, BATCH_SIZE, generator_for(seed, "batches"))
    task = bar.add_task(f"label noise {label_noise:g}", total=epochs * len(sampler))
    rows, step = [], 0
    for _ in range(epochs):
        for inputs, targets in sampler:
            if step % every == 0:
                before = {name: value.clone() for name, value in model.state_dict().items()}
                loss = weights(model, example_loss(model, F.cross_entropy, inputs, targets).statistics)
                model.load_state_dict(before)
                share = weights(model, example_share(model, F.cross_entropy, inputs, targets).statistics)
                model.load_state_dict(before)
                for threshold in THRESHOLDS:
                    found = vote_similarity(loss, share, threshold)
                    rows.append(
                        {
                            "label_noise": label_noise,
                            "seed": seed,
                            "step": step,
                            "threshold": threshold,
                            **found,
                        }
                    )
            backward(model, F.cross_entropy, inputs, targets, MASK, "per_example")
            optimizer.step()
            step += 1
            bar.advance(task)
    table = pd.DataFrame(rows).rename(
        columns={"kept_share_one": "kept_share_loss", "kept_share_other": "kept_share_share"}
    )
    return table.assign(images=images, width=width, data_source=data.source)


def weights(model: nn.Module, statistics: dict[str, GradientStatistics]) -> dict[str, GradientStatistics]:
    """Those of convolution and linear weights."""
    return {name: statistics[name] for name, p in model.named_parameters() if p.ndim > 1}


def main() -> None:
    """Compare on true and random labels and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=18)
    parser.add_argument("--every", type=int, default=40, help="steps between comparisons")
    parser.add_argument("--images", type=int, default=4800)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--to", type=Path, default=Path(__file__).parents[1] / "results" / "cifar" / "votes.csv"
    )
    a = parser.parse_args()
    with Progress() as bar:
        tables = [compare(noise, a.seed, a.epochs, a.every, a.images, a.width, bar) for noise in (0.0, 1.0)]
    a.to.parent.mkdir(parents=True, exist_ok=True)
    write_text(a.to, pd.concat(tables).to_csv(index=False, float_format="%.5g"))
    print(a.to)


if __name__ == "__main__":
    run_command(main)
