"""An expert that trains in seconds."""

from __future__ import annotations

import pytest

from lab.experiments.coinrun.expert_options import ExpertOptions


@pytest.fixture(scope="session")
def options() -> ExpertOptions:
    """A small network, trained on as many frames as two checkpoints need."""
    return ExpertOptions(
        mode="easy",
        frames=512,
        n_games=16,
        n_steps=16,
        minibatches=2,
        update_epochs=1,
        lr=1e-3,
        gamma=0.99,
        gae_lambda=0.95,
        entropy_bonus=0.01,
        clip_range=0.2,
        width=2,
        features=8,
        blocks=0,
        bfloat16=False,
        seed=0,
        checkpoint_every=256,
        evaluate_every=0,
        threads=1,
    )
