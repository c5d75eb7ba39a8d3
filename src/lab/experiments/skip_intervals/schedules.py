"""What changes over training, by the share of all optimizer steps that is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ilc.errors import UserError


@dataclass(frozen=True)
class Stages:
    """The course of training, in stages; one value of each list belongs to each stage.

    Attributes:
        shares: of all steps; they sum to 1.
        calls: of the simulator in a window, which begins anywhere in a trajectory; 0 for whole trajectories
            from their first frame, as the thesis trains.
        batch_sizes: windows, or trajectories, per step.
        lr: learning rate.

    Raises:
        UserError: lists of different lengths, or a number out of range.
    """

    shares: Sequence[float]
    calls: Sequence[int]
    batch_sizes: Sequence[int]
    lr: Sequence[float]

    def __post_init__(self) -> None:
        lengths = {len(values) for values in (self.shares, self.calls, self.batch_sizes, self.lr)}
        if len(lengths) != 1 or 0 in lengths:
            raise UserError("stages.shares, calls, batch_sizes and lr must be lists of one length")
        if min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-6:
            raise UserError(f"stages.shares must be of at least 0 and sum to 1, got {list(self.shares)}")
        if min(self.calls) < 0 or min(self.batch_sizes) < 1 or min(self.lr) <= 0:
            raise UserError(
                "stages.calls must be at least 0, batch_sizes at least 1 and lr above 0, got "
                f"{list(self.calls)}, {list(self.batch_sizes)} and {list(self.lr)}"
            )

    def at(self, share: float) -> int:
        """Which stage it is when this share of all steps is over."""
        end = 0.0
        for stage, length in enumerate(self.shares):
            end += length
            if share < end - 1e-9:
                return stage
        return len(self.shares) - 1


@dataclass(frozen=True)
class Exploration:
    """Random matches instead of the best one, at first.

    Attributes:
        share: of all steps over which the probability of a random match falls from 1 to 0, linearly.

    Raises:
        UserError: out of range.
    """

    share: float

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UserError(f"exploration.share must be in [0, 1], got {self.share}")

    def at(self, share: float) -> float:
        """Probability of a random match when this share of all steps is over."""
        return max(0.0, 1.0 - share / self.share) if self.share else 0.0


@dataclass(frozen=True)
class ScheduledSampling:
    """True frames as the next input, rather than the prediction, at first.

    Attributes:
        kind: ``inverse``, as the authors' code has it: 1 / (1 + s / length); or ``linear``.
        start: share of all steps before which every input is a true frame.
        length: share of all steps on which the fall is scaled; with ``linear`` it is over after it.

    Raises:
        UserError: another kind, or a number out of range.
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
        """Probability of a true frame when this share of all steps is over."""
        over = max(0.0, share - self.start) / self.length
        return 1 / (1 + over) if self.kind == "inverse" else max(0.0, 1.0 - over)
