"""Sequences of frames, one behind the other, each with a label of how it ends."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Trajectories:
    """N trajectories, F frames in all, C colour channels that are 0 or 1.

    Attributes:
        frames: ``[F, C, height, width]``, uint8; those of one trajectory follow each other.
        begins: where each trajectory begins in ``frames``, ``[N]``.
        lengths: frames of each, ``[N]``.
        labels: how each ends, ``[N]``.
    """

    frames: Tensor
    begins: Tensor
    lengths: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, rows: Tensor, times: Tensor) -> Tensor:
        """Frames of trajectories ``rows`` at ``times`` from 0, both ``[...]``; float ``[..., C, h, w]``."""
        return self.frames[self.begins[rows] + times].float()

    def share_of_most_frequent(self) -> float:
        """Share of these trajectories that have their most frequent label: the best constant's accuracy."""
        return float(self.labels.bincount().max() / len(self))

    def between(self, begin: int, end: int) -> Trajectories:
        """The trajectories from ``begin`` up to ``end``."""
        lengths = self.lengths[begin:end]
        first = int(self.begins[begin])
        frames = self.frames[first : first + int(lengths.sum())]
        return Trajectories(frames, self.begins[begin:end] - first, lengths, self.labels[begin:end])

    def to(self, device: torch.device) -> Trajectories:
        """The same on a device."""
        return Trajectories(
            self.frames.to(device), self.begins.to(device), self.lengths.to(device), self.labels.to(device)
        )
