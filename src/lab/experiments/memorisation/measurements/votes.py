"""A comparison of the local vote and the share vote with the exact vote during training.

A network with BatchNorm is trained as in ``experiment=cifar_random_labels``, with the local vote, once on
true and once on random labels. ``VotesTask`` makes the comparisons.
"""

from __future__ import annotations

from functools import partial

import pandas as pd

from lab.experiments.measurement import Parts, Tables, trained

TASK = "task=lab.experiments.memorisation.votes_task.VotesTask"
LABEL_NOISE = {"true_labels": 0.0, "random_labels": 1.0}


def parts(seed: int = 0, epochs: int = 10, images: int = 9600, width: int = 8) -> Parts:
    """Return the parts of ``memorisation/votes.csv``: one for true and one for random labels.

    Each part takes minutes.

    Args:
        seed: the seed of data, network and batches.
        epochs: the number of training epochs.
        images: the number of training images.
        width: the width of FastResNet.
    """
    return {
        name: partial(_compare, noise, seed, epochs, images, width) for name, noise in LABEL_NOISE.items()
    }


def _compare(label_noise: float, seed: int, epochs: int, images: int, width: int) -> Tables:
    """Train once and return a row per comparison and threshold."""
    run = trained(
        [
            "experiment=cifar_random_labels",
            TASK,
            "dataset.source=embedded",
            f"dataset.n_environments={images}",
            "dataset.n_test=10",
            f"dataset.label_noise={label_noise}",
            f"model.width={width}",
            f"trainer.max_epochs={epochs}",
            f"seed={seed}",
        ]
    )
    assert run.summary is not None, "trained ends with a summary"
    table = pd.DataFrame(run.summary["votes"])
    table.insert(0, "label_noise", label_noise)
    table.insert(1, "seed", seed)
    return {
        "memorisation/votes.csv": table.assign(
            images=images, image_size=run.data.inputs.shape[-1], width=width, data_source=run.data.source
        )
    }
