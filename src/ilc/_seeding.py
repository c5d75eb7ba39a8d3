"""Independent seeds by name, so that a new random choice never changes another one."""

from __future__ import annotations

import hashlib

import torch


def seed_for(seed: int, purpose: str) -> int:
    """A seed in [0, 2^63) that depends on the run's ``seed`` and on its purpose."""
    digest = hashlib.sha256(f"{seed}:{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator_for(seed: int, purpose: str) -> torch.Generator:
    """A CPU generator seeded by ``seed_for``."""
    return torch.Generator().manual_seed(seed_for(seed, purpose))
