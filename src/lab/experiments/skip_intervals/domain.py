"""A domain to simulate: its trajectories, and the rule that reads a label off frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from lab.experiments.skip_intervals.trajectories import Trajectories


@dataclass(frozen=True)
class DomainData:
    """The data of a domain.

    Attributes:
        training: trajectories to learn from.
        validation: trajectories held out.
        source: text that says where the data come from, and how accurate shortcuts are on them.
        sha256: SHA-256 of all values.
        shortcuts: the accuracy of each shortcut on the validation trajectories, by the shortcut's name.
        perturbed: training trajectories under other physics, or None.
    """

    training: Trajectories
    validation: Trajectories
    source: str
    sha256: str
    shortcuts: dict[str, float]
    perturbed: Trajectories | None = None

    def fingerprint(self) -> str:
        """Return the SHA-256 of all values, in hexadecimal."""
        return self.sha256


class Domain(Protocol):
    """A system that evolves by itself, which the ``dataset`` section of a config makes."""

    data: DomainData
    n_classes: int

    def evidence(self, frames: Tensor, first: Tensor) -> Tensor:
        """Return the object's mass at the place of each label, in pixels, ``[N, n_classes]``.

        The classifier psi of the thesis compares these values. For a frame without the object they are zero
        up to rounding.

        Args:
            frames: one frame of each of N trajectories, ``[N, C, h, w]``, in [0, 1].
            first: the true first frames of these trajectories.
        """
