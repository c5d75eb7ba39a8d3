"""A job that needs torch, which takes its time to load."""

from __future__ import annotations

import torch


def threads() -> int:
    return torch.get_num_threads()
