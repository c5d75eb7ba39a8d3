"""How alike the two votes of an example are during training: its loss's gradient, its share of the batch's.

Trains the network of ``experiment=cifar_random_labels`` with shares and a mask, on true and on random
labels, with BatchNorm. Every few steps both votes are taken on one and the same batch, in the same state.
Convolution and linear weights only: a bias in front of BatchNorm has no gradient but rounding.
"""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch
from torch import nn
from torch.nn import functional as F

from ilc.aggregators import AndMask, GradientStatistics
from ilc.data import ExampleBatches, make_labelled_images
from ilc.experiments.measurement import Parts, Tables
from ilc.experiments.memorisation.vote_similarity import vote_similarity
from ilc.gradients import backward, example_loss, example_share
from ilc.models import FastResNet
from ilc.runs.random_state import seed_everything
from ilc.seeding import generator_for

THRESHOLDS = (0.1, 0.2, 0.4)
MASK = AndMask(0.2, rescale=True)
LEARNING_RATE = 5e-4
BATCH_SIZE = 80
LABEL_NOISE = {"true_labels": 0.0, "random_labels": 1.0}


def parts(seed: int = 0, epochs: int = 18, every: int = 40, images: int = 4800, width: int = 8) -> Parts:
    """``cifar/votes.csv``: a part for true and one for random labels, two or three minutes each.

    Args:
        seed: of data, network and batches.
        epochs: of training.
        every: steps between two comparisons.
        images: for training.
        width: of FastResNet.
    """
    return {
        name: partial(compare, noise, seed, epochs, every, images, width)
        for name, noise in LABEL_NOISE.items()
    }


def compare(label_noise: float, seed: int, epochs: int, every: int, images: int, width: int) -> Tables:
    """Train once; a row per comparison and threshold."""
    data = make_labelled_images(
        seed, source="procedural", n_environments=images, n_test=10, label_noise=label_noise
    )
    seed_everything(seed)
    model = FastResNet(3, 10, width)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    sampler = ExampleBatches(data, BATCH_SIZE, generator_for(seed, "batches"))
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
    table = pd.DataFrame(rows).rename(
        columns={"kept_share_one": "kept_share_loss", "kept_share_other": "kept_share_share"}
    )
    return {"cifar/votes.csv": table.assign(images=images, width=width, data_source=data.source)}


def weights(model: nn.Module, statistics: dict[str, GradientStatistics]) -> dict[str, GradientStatistics]:
    """Those of convolution and linear weights."""
    return {name: statistics[name] for name, p in model.named_parameters() if p.ndim > 1}
