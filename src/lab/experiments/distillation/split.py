"""The training set of each replica, divided between its student and its teacher."""

from __future__ import annotations

import torch
from torch import Tensor


class Split:
    """R training sets of different sizes, each divided into a part to train on and one to validate on.

    Random numbers come from PyTorch's global generator, which belongs to the run.

    Args:
        sizes: examples of each replica, ``[R]``; its training set is the first so many of N.
        share: of the examples that validate; 0 for none.
        batch_size: of the student.
    """

    def __init__(self, sizes: Tensor, share: float, batch_size: int) -> None:
        self.sizes, self.batch_size = sizes, batch_size
        self.n_validation = (share * sizes).round().long().clamp(min=1) if share > 0 else 0 * sizes
        self.n_training = sizes - self.n_validation
        self.order = torch.empty(0)
        self.redraw()

    def redraw(self) -> None:
        """Divide anew, at random."""
        self.order = self._shuffled(self.sizes, 1)[:, 0]

    def validation(self) -> tuple[Tensor, Tensor]:
        """Which examples validate ``[R, V]``, and whether each is one: replicas with fewer are filled up."""
        longest = int(self.n_validation.max())
        real = torch.arange(longest) < self.n_validation[:, None]
        return torch.where(real, self.order[:, :longest], 0), real

    def batches(self, steps: int) -> Tensor:
        """Which examples to train on, ``[steps, R, batch_size]``: pass after pass, each in a new order."""
        n = steps * self.batch_size
        passes = -(-n // int(self.n_training.min()))
        place = torch.arange(n)[None, :]
        in_pass, slot = place // self.n_training[:, None], place % self.n_training[:, None]
        shuffled = self._shuffled(self.n_training, passes)
        rows = torch.arange(len(self.sizes))[:, None]
        chosen = self.order[rows, self.n_validation[:, None] + shuffled[rows, in_pass, slot]]
        return chosen.reshape(-1, steps, self.batch_size).transpose(0, 1)

    @staticmethod
    def _shuffled(counts: Tensor, times: int) -> Tensor:
        """Random orders of ``range(count)`` in the first so many places, ``[R, times, max(counts)]``."""
        longest = int(counts.max())
        keys = torch.rand(len(counts), times, longest)
        keys[(torch.arange(longest) >= counts[:, None])[:, None].expand_as(keys)] = 2.0
        return keys.argsort(-1)
