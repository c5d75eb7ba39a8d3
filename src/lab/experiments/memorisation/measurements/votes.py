"""How near the local and the share vote come to the exact one during training.

Trains as ``experiment=cifar_random_labels`` does, with the local vote, on true and on random labels, with
BatchNorm; see ``VotesTask``.
"""

from __future__ import annotations

from functools import partial

import pandas as pd

from lab.experiments.measurement import Parts, Tables, trained

TASK = "task=lab.experiments.memorisation.votes_task.VotesTask"
LABEL_NOISE = {"true_labels": 0.0, "random_labels": 1.0}


def parts(seed: int = 0, epochs: int = 10, images: int = 9600, width: int = 8) -> Parts:
    """``memorisation/votes.csv``: a part for true and one for random labels, minutes each.

    Args:
        seed: of data, network and batches.
        epochs: of training.
        images: for training.
        width: of FastResNet.
    """
    return {
        name: partial(_compare, noise, seed, epochs, images, width) for name, noise in LABEL_NOISE.items()
    }


def _compare(label_noise: float, seed: int, epochs: int, images: int, width: int) -> Tables:
    """Train once; a row per comparison and threshold."""
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
