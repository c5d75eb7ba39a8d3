"""The methods: each says with which frames a prediction may be matched (thesis, section 2.3.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor

from ilc.errors import UserError


@dataclass(frozen=True)
class Method:
    """A method, which says with which frames a prediction may be matched.

    Attributes:
        nearest: number of frames from the input to the first candidate.
        farthest: number of frames from the input to the last candidate.
        explores: whether random matches come before the best ones.
    """

    nearest: int
    farthest: int
    explores: bool

    def candidates(self, times: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
        """Return the times of the candidates, and whether each candidate is valid, ``[B, S]`` each.

        No candidate lies after the last frame. A candidate that would is replaced by the last frame; it is
        not valid, unless it is the first candidate. Deviation: a fixed step that would go beyond the last
        frame is matched with the last frame. The authors' code leaves it out, so that a step of 2 may never
        learn the end.

        Args:
            times: times of the inputs, ``[B]``.
            last: times of the trajectories' last frames, ``[B]``.
        """
        steps = torch.arange(self.nearest, self.farthest + 1, device=times.device)
        ahead = times[:, None] + steps
        valid = ahead <= last[:, None]
        valid[:, 0] = True
        return ahead.minimum(last[:, None]), valid


def method_named(name: str, horizon: int) -> Method:
    """Return the method that a config names.

    Args:
        name: ``adaptive``, ``adaptive_without_exploration`` or ``fixed_K`` for steps of K frames.
        horizon: the thesis's H, the largest number of frames that an adaptive step may go ahead.

    Raises:
        UserError: the name is unknown, or the horizon is below 1.
    """
    if horizon < 1:
        raise UserError(f"horizon must be at least 1, got {horizon}")
    if name in ("adaptive", "adaptive_without_exploration"):
        return Method(1, horizon, explores=name == "adaptive")
    fixed = re.fullmatch(r"fixed_([1-9]\d*)", name)
    if fixed is None:
        raise UserError(
            "method must be adaptive, adaptive_without_exploration, or fixed_K for a step of K frames "
            f"(fixed_1, fixed_2, ...), got {name!r}"
        )
    return Method(int(fixed[1]), int(fixed[1]), explores=False)
