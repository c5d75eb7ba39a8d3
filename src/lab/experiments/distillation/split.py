"""The training set of each replica, divided between its student and its teacher."""

from __future__ import annotations

import torch
from torch import Tensor

from ilc.errors import UserError


class Split:
    """R training sets of different sizes, each divided into a training part and a validation part.

    Random numbers come from PyTorch's global generator, which belongs to the run.

    Args:
        sizes: number of examples of each replica, ``[R]``; its training set is the first so many of N.
        share: share of the examples in the validation part; 0 for no validation part.
        batch_size: batch size of the student.

    Raises:
        UserError: the share leaves a replica without a training part.
    """

    def __init__(self, sizes: Tensor, share: float, batch_size: int) -> None:
        self.sizes, self.batch_size = sizes, batch_size
        self.n_validation = (share * sizes).round().long().clamp(min=1) if share > 0 else 0 * sizes
        self.n_training = sizes - self.n_validation
        if int(self.n_training.min()) < 1:
            raise UserError(
                f"teaching.validation_share={share:g} of {int(sizes.min())} examples leaves none to train "
                "on: take a smaller share or a larger dataset.n_train"
            )
        self.order = torch.empty(0)
        self.redraw()

    def redraw(self) -> None:
        """Draw a new random division."""
        self.order = self._shuffled(self.sizes, 1)[:, 0]

    def validation(self) -> tuple[Tensor, Tensor]:
        """Return the numbers of the validation examples ``[R, V]``, and which entries are real ``[R, V]``.

        Replicas with fewer than V validation examples are filled up with entries that are not real.
        """
        longest = int(self.n_validation.max())
        real = torch.arange(longest) < self.n_validation[:, None]
        return torch.where(real, self.order[:, :longest], 0), real

    def batches(self, steps: int) -> Tensor:
        """Return the numbers of the examples to train on, ``[steps, R, batch_size]``.

        The batches go through the training part pass after pass, each pass in a new order.
        """
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
        """Draw orders ``[R, times, max(counts)]``, whose first ``count`` entries permute ``range(count)``."""
        longest = int(counts.max())
        keys = torch.rand(len(counts), times, longest)
        keys[(torch.arange(longest) >= counts[:, None])[:, None].expand_as(keys)] = 2.0
        return keys.argsort(-1)
