"""With which frames each method lets a prediction be matched (thesis, section 2.3.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor

from ilc.errors import UserError


@dataclass(frozen=True)
class Method:
    """What may be matched.

    Attributes:
        nearest: frames from the input to the first candidate.
        farthest: frames from the input to the last candidate.
        explores: whether random matches come before the best ones.
    """

    nearest: int
    farthest: int
    explores: bool

    def candidates(self, times: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
        """Times of the candidates after ``times`` and which of them are no repetition, ``[B, S]`` each.

        None lies behind the last frame. Deviation: a fixed step that would is matched with the last frame; in
        the authors' code it is left out, so that a step of 2 may never learn the end.

        Args:
            times: of the inputs, ``[B]``.
            last: of the trajectories' last frames, ``[B]``.
        """
        steps = torch.arange(self.nearest, self.farthest + 1, device=times.device)
        ahead = times[:, None] + steps
        valid = ahead <= last[:, None]
        valid[:, 0] = True
        return ahead.minimum(last[:, None]), valid


def method_named(name: str, horizon: int) -> Method:
    """The method of a config's ``method``.

    Args:
        name: ``adaptive``, ``adaptive_without_exploration`` or ``fixed_K`` for steps of K frames.
        horizon: the thesis's H: how far an adaptive step may go.

    Raises:
        UserError: another name, or a horizon below 1.
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
