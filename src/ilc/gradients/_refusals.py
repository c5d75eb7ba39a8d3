"""What no way or only another one can do: one line with the remedy, not an error from inside torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ilc.aggregators import Aggregator
from ilc.errors import UserError
from ilc.gradients._trials.state_between_environments import nothing_left_behind
from ilc.gradients._trials.trial_passes import copied, trial
from ilc.objectives import ObjectiveFunction

OTHER_WAYS = {
    "vectorized": ("sequential",),
    "per_example": ("per_example_loss", "sequential"),
    "per_example_share": ("per_example_loss", "sequential"),
    "per_example_loss": ("sequential",),
}
"""The ways that follow more models at the price of more passes, nearest first."""


def check_aggregator(aggregator: Any) -> None:
    """Raise UserError unless this is an aggregator, rather than the class of some."""
    if isinstance(aggregator, Aggregator):
        return
    if isinstance(aggregator, type) and issubclass(aggregator, Aggregator):
        raise UserError(
            f"the aggregator must be an instance, got the class {aggregator.__name__}: make one, as in "
            "AndMask(agreement_threshold=0.8) or Mean()"
        )
    raise UserError(
        "the aggregator must be an ilc.aggregators.Aggregator, such as AndMask(agreement_threshold=0.8), got "
        f"{type(aggregator).__name__}"
    )


def check_model(model: nn.Module) -> None:
    """Raise UserError for DataParallel and its like."""
    # By name, because importing the distributed ones takes time and warns.
    if type(model).__module__.startswith(("torch.nn.parallel.", "torch.distributed.")):
        raise UserError(
            f"{type(model).__name__} divides batches or averages gradients by itself, before any environment "
            "can vote: give model.module, and several processes to ilc.distributed.backward"
        )


class Attempt(NamedTuple):
    """A step that ended with an error, to be tried in other ways.

    Attributes:
        gradients: the way in which it was tried.
        ways: all of them.
        model: as before the step.
        objective: likewise.
        inputs: likewise.
        targets: likewise.
    """

    gradients: str
    ways: Mapping[str, Callable[..., Any]]
    model: nn.Module
    objective: ObjectiveFunction
    inputs: Tensor | list[Tensor]
    targets: Tensor | list[Tensor]

    def error_of(self, way: str) -> Exception | None:
        """What another way ends with; nothing of the user's moves."""
        everything = range(len(self.inputs))
        x, y = copied(self.inputs, everything), copied(self.targets, everything)
        if isinstance(self.inputs, Tensor) and isinstance(self.targets, Tensor):
            x, y = torch.stack(x), torch.stack(y)  # type: ignore[assignment]
        looked_at = (
            nothing_left_behind(self.model, self.objective, x, y, vectorized=False)
            if way == "sequential"
            else nullcontext()
        )
        try:
            with trial(self.model, self.objective, x[0]), looked_at:
                self.ways[way](self.model, self.objective, x, y)
        except Exception as error:
            return error
        return None


def explained(error: Exception, attempt: Attempt) -> Exception:
    """The error of a way, as one line if another way has none; else the mistake is the model's or the data's.

    Costs nothing where all goes well: the other ways are tried only now, one after another.
    """
    for other in OTHER_WAYS.get(attempt.gradients, ()):
        better = attempt.error_of(other)
        if isinstance(better, UserError):
            return better
        if better is None:
            said = " ".join(str(error).split())
            return UserError(
                f"gradients={attempt.gradients!r} cannot follow what the model or the risk does "
                f"({type(error).__name__}: {said[:160]}): use gradients={other!r}, which can"
            )
    if "modified by an inplace operation" in str(error):
        return UserError(
            "the model or the risk writes in place into a tensor that the gradient needs, between one "
            "environment and the next: assign a new tensor (s = 0.9 * s in place of s.mul_(0.9)), or clone it"
        )
    return error


def with_a_remedy_that_works(error: UserError, attempt: Attempt) -> UserError:
    """The refusal itself, if the way that it names works; else one that names the next that does."""
    text = str(error)
    others = OTHER_WAYS.get(attempt.gradients, ())
    named = [way for way in others if f"gradients='{way}'" in text]
    if not named or attempt.error_of(named[0]) is None:
        return error
    for other in others:
        if other not in named and attempt.error_of(other) is None:
            return UserError(f"{text}. That way cannot follow this model either: use gradients={other!r}")
    return error
