"""How the votes for each parameter are made where the rule of a layer does not fit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from torch import nn

from ilc.errors import UserError
from ilc.gradients._trials.findings import findings

_QUESTION = "routes of parameters"


@dataclass
class Routes:
    """Names of parameters for which no rule of a layer fits.

    Attributes:
        uses: those whose votes come from the operations that use them.
        passes: those whose votes need a backward pass for each example.
    """

    uses: set[str] = field(default_factory=set)
    passes: set[str] = field(default_factory=set)

    def without_rule(self) -> set[str]:
        """All of them."""
        return self.uses | self.passes

    def need_passes(self, names: Collection[str], reason: str) -> None:
        """Note that these need a backward pass for each example, and tell the user once."""
        new = sorted(set(names) - self.passes)
        self.passes.update(new)
        self.uses.difference_update(new)
        if new:
            shown = ", ".join(new[:3]) + (f" and {len(new) - 3} more" if len(new) > 3 else "")
            _say_once(f"a backward pass for each example gives the votes for {shown}, as {reason}")


class VotesDifferError(UserError):
    """The votes for some parameters are not what they are said to be.

    Attributes:
        names: the names of these parameters.
    """

    def __init__(self, names: list[str], message: str) -> None:
        super().__init__(message)
        self.names = names


def routes(model: nn.Module, loss_fn: Any) -> Routes:
    """What is known about the model with this loss as they are now."""
    found: Routes = findings(model, loss_fn).setdefault(_QUESTION, Routes())
    return found


@cache
def _say_once(what: str) -> None:
    print(f"ilc: {what}")
