"""Schedules: values that change over training, by the share of all optimizer steps already taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ilc.errors import UserError


@dataclass(frozen=True)
class Stages:
    """The stages of training; each list has one value per stage.

    Attributes:
        shares: share of all steps; the shares sum to 1.
        calls: number of calls of the simulator in a window, which begins anywhere in a trajectory; 0 for
            whole trajectories from their first frame, as in the thesis.
        batch_sizes: number of windows, or of trajectories, per step.
        lr: learning rate.

    Raises:
        UserError: the lists have different lengths, or a number is out of range.
    """

    shares: Sequence[float]
    calls: Sequence[int]
    batch_sizes: Sequence[int]
    lr: Sequence[float]

    def __post_init__(self) -> None:
        lengths = {len(values) for values in (self.shares, self.calls, self.batch_sizes, self.lr)}
        if len(lengths) != 1 or 0 in lengths:
            raise UserError(
                "stages.shares, calls, batch_sizes and lr must be lists of equal length and not empty, got "
                f"{list(self.shares)}, {list(self.calls)}, {list(self.batch_sizes)} and {list(self.lr)}"
            )
        if min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-6:
            raise UserError(
                f"stages.shares must be numbers of at least 0 that sum to 1, got {list(self.shares)}"
            )
        if min(self.calls) < 0 or min(self.batch_sizes) < 1 or min(self.lr) <= 0:
            raise UserError(
                "stages.calls must be at least 0, batch_sizes at least 1 and lr above 0, got "
                f"{list(self.calls)}, {list(self.batch_sizes)} and {list(self.lr)}"
            )

    def at(self, share: float) -> int:
        """Return the number of the stage after this share of all steps."""
        end = 0.0
        for stage, length in enumerate(self.shares):
            end += length
            if share < end - 1e-9:
                return stage
        return len(self.shares) - 1


@dataclass(frozen=True)
class Exploration:
    """Random matches, which replace the best ones at the beginning of training.

    Attributes:
        share: share of all steps over which the probability of a random match falls linearly from 1 to 0.

    Raises:
        UserError: the share is out of range.
    """

    share: float

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UserError(f"exploration.share must be in [0, 1], got {self.share}")

    def at(self, share: float) -> float:
        """Return the probability of a random match after this share of all steps."""
        return max(0.0, 1.0 - share / self.share) if self.share else 0.0


@dataclass(frozen=True)
class ScheduledSampling:
    """True frames as inputs, which replace the predictions at the beginning of training.

    Attributes:
        kind: ``inverse``, which is 1 / (1 + s / length) as in the authors' code, or ``linear``.
        start: share of all steps before which every input is a true frame.
        length: share of all steps that scales the fall; with ``linear`` the fall ends after this share.

    Raises:
        UserError: the kind is unknown, or a number is out of range.
    """

    kind: str
    start: float
    length: float

    def __post_init__(self) -> None:
        if self.kind not in ("inverse", "linear"):
            raise UserError(f"sampling.kind must be inverse or linear, got {self.kind!r}")
        if not 0 <= self.start <= 1 or self.length <= 0:
            raise UserError(
                "sampling.start must be in [0, 1] and sampling.length above 0, "
                f"got {self.start} and {self.length}"
            )

    def at(self, share: float) -> float:
        """Return the probability of a true frame after this share of all steps."""
        over = max(0.0, share - self.start) / self.length
        return 1 / (1 + over) if self.kind == "inverse" else max(0.0, 1.0 - over)
