"""What is simulated: trajectories, and the rule that reads a label off frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from lab.experiments.skip_intervals.trajectories import Trajectories


@dataclass(frozen=True)
class DomainData:
    """The data of a domain.

    Attributes:
        training: to learn from.
        validation: held out.
        source: where the data comes from and how well shortcuts do on it, in words.
        sha256: of all values.
        shortcuts: name of each shortcut -> its accuracy on the validation trajectories.
        perturbed: training trajectories under other physics, where the domain has them.
    """

    training: Trajectories
    validation: Trajectories
    source: str
    sha256: str
    shortcuts: dict[str, float]
    perturbed: Trajectories | None = None

    def fingerprint(self) -> str:
        """SHA-256 of all values, in hexadecimal."""
        return self.sha256


class Domain(Protocol):
    """A system that evolves by itself: what the ``dataset`` section of a config makes."""

    data: DomainData
    n_classes: int

    def evidence(self, frames: Tensor, first: Tensor) -> Tensor:
        """How much of the moving object is where each label says, in pixels, ``[N, n_classes]``.

        The mass that the classifier psi of the thesis compares; no more than rounding for a frame without
        the object.

        Args:
            frames: of N trajectories, ``[N, C, h, w]``, in [0, 1].
            first: their true first frames.
        """
