"""How well the numbers of a diagnosis find wrong labels, during plain training on handwritten digits."""

from __future__ import annotations

from functools import partial

import pandas as pd
import torch
from torch import Tensor, nn, optim
from torch.nn import functional as F

from ilc import diagnose
from lab.experiments.measurement import Parts, Tables

EPOCHS = (1, 2, 3, 5, 20, 40)
"""The diagnoses come after so many epochs."""

COMPONENTS = {"all": None, "default": 256}
"""How many components of each parameter a diagnosis looks at."""

SHARE_WRONG = 0.25


def parts(seeds: int = 5) -> Parts:
    """Return the parts of ``wrong_labels/areas.csv``: one per seed, which takes some seconds.

    Args:
        seeds: the number of seeds, which begin with 0.
    """
    return {f"seed{seed}": partial(measure, seed) for seed in range(seeds)}


def measure(seed: int, epochs: tuple[int, ...] = EPOCHS) -> Tables:
    """Return a row per number of epochs and of components: the areas under the ROC curves."""
    from sklearn.datasets import load_digits  # These imports are slow.
    from sklearn.metrics import roc_auc_score

    images, labels = (torch.tensor(values) for values in load_digits(return_X_y=True))
    images = images.float() / 16
    random = torch.Generator().manual_seed(seed)
    noisy, wrong = wrong_labels(labels, random)
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    rows = []
    for epoch in range(1, max(epochs) + 1):
        _train_one_epoch(model, optimizer, images, noisy, random)
        for name, components in COMPONENTS.items() if epoch in epochs else ():
            found = diagnose(
                model,
                F.cross_entropy,
                images[:, None],
                noisy[:, None],
                "per_example",
                components=components,
            )
            numbers = {"dissent": found.dissent, "opposition": found.opposition, "risk": found.risks}
            rows.append(
                {
                    "seed": seed,
                    "epochs": epoch,
                    "components": name,
                    **{key: float(roc_auc_score(wrong, values)) for key, values in numbers.items()},
                    "wrong": int(wrong.sum()),
                    "examples": len(labels),
                    "data_source": "scikit-learn's digits",
                }
            )
    return {"wrong_labels/areas.csv": pd.DataFrame(rows)}


def wrong_labels(labels: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return labels ``[N]`` of which a quarter are another digit, and which these are ``[N]``."""
    wrong = torch.rand(len(labels), generator=random) < SHARE_WRONG
    others = (labels + torch.randint(1, 10, labels.shape, generator=random)) % 10
    return torch.where(wrong, others, labels), wrong


def _train_one_epoch(
    model: nn.Module, optimizer: optim.Optimizer, images: Tensor, labels: Tensor, random: torch.Generator
) -> None:
    for batch in torch.split(torch.randperm(len(images), generator=random), 64):
        optimizer.zero_grad()
        F.cross_entropy(model(images[batch]), labels[batch]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
