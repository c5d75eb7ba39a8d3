"""Trajectories: sequences of frames, each with a label that says how it ends."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Trajectories:
    """N trajectories with F frames in total; each has C colour channels that are 0 or 1.

    Attributes:
        frames: ``[F, C, height, width]``, uint8; the frames of one trajectory follow each other.
        begins: index in ``frames`` at which each trajectory begins, ``[N]``.
        lengths: number of frames of each trajectory, ``[N]``.
        labels: label of each trajectory, which says how it ends, ``[N]``.
    """

    frames: Tensor
    begins: Tensor
    lengths: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, rows: Tensor, times: Tensor) -> Tensor:
        """Return the frames, float ``[..., C, h, w]``, of trajectories ``rows`` at ``times``.

        Both arguments are ``[...]``; times count from 0.
        """
        return self.frames[self.begins[rows] + times].float()

    def share_of_most_frequent(self) -> float:
        """Return the share of the most frequent label, which is the accuracy of the best constant."""
        return float(self.labels.bincount().max() / len(self))

    def between(self, begin: int, end: int) -> Trajectories:
        """Return the trajectories from ``begin`` up to, but not including, ``end``."""
        lengths = self.lengths[begin:end]
        first = int(self.begins[begin])
        frames = self.frames[first : first + int(lengths.sum())]
        return Trajectories(frames, self.begins[begin:end] - first, lengths, self.labels[begin:end])

    def to(self, device: torch.device) -> Trajectories:
        """Return the trajectories on a device."""
        return Trajectories(
            self.frames.to(device), self.begins.to(device), self.lengths.to(device), self.labels.to(device)
        )
