"""What is known of a tensor while a model is written down."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

LAST = ("vector", "sequence", "time first")
"""Kinds whose last axis holds the features."""
SPACE = {"signal": 1, "image": 2, "volume": 3}
"""Kinds ``[N, C, *space]`` and how many axes of space they have."""


@dataclass(frozen=True)
class Shape:
    """A tensor: ``vector [N, C]``, ``sequence [N, T, C]``, ``time first [T, N, C]``, ``tokens [N, T]``
    or one of ``SPACE``.

    Attributes:
        kind: which of them.
        c: channels; of tokens the number of words.
        t: positions, or the side of space.
        sizes: lengths that the batch's axes have, from which new lengths are drawn.
    """

    kind: str
    c: int
    t: int
    sizes: tuple[int, ...]

    @property
    def last(self) -> bool:
        return self.kind in LAST

    def of(self, **changes: object) -> Shape:
        return replace(self, **changes)  # type: ignore[arg-type]

    def draw(self, random: Random) -> int:
        """A length for a new axis, often that of another one."""
        return random.choice([*self.sizes, self.c, 2, 3, 4])
