"""Refusals: one line with a remedy, in place of an error from inside torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import nn

from ilc.aggregators import Aggregator
from ilc.errors import UserError
from ilc.gradients._passes.example_losses import check_losses
from ilc.gradients._sharded import is_in_fsdp1, is_sharded
from ilc.gradients._tensor_tree import Values, stacked
from ilc.gradients._trials.state_between_environments import no_state_between_environments
from ilc.gradients._trials.trial_passes import copied, trial_passes
from ilc.objectives import ObjectiveFunction

OTHER_WAYS = {
    "vectorized": ("sequential",),
    "per_example": ("per_example_loss", "sequential"),
    "per_example_share": ("per_example_loss", "sequential"),
    "per_example_loss": ("sequential",),
}
"""For each way, those that work with more models but need more passes; the most similar comes first."""


def check_aggregator(aggregator: Any) -> None:
    """Raise UserError unless this is an instance of an aggregator."""
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


def checked_aggregator(aggregator: Aggregator | None, inputs: Any, targets: Any) -> Aggregator:
    """Return the aggregator, or raise UserError if it is missing or stands in the place of a batch."""
    if aggregator is None and (isinstance(inputs, Aggregator) or isinstance(targets, Aggregator)):
        raise UserError(
            "the aggregator stands in the place of the inputs or targets: name it, as in backward(model, "
            "loss_fn, batch, aggregator=AndMask(agreement_threshold=0.8))"
        )
    check_aggregator(aggregator)
    assert aggregator is not None, "None was refused"
    return aggregator


def check_is_module(model: Any) -> None:
    """Raise UserError unless this is a module, whose parameters can be found."""
    if not isinstance(model, nn.Module):
        kind = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise UserError(
            f"the model must be a torch.nn.Module, got {kind}: give the module itself, and put several "
            "modules into one, such as nn.Sequential(backbone, head)"
        )


def check_loss_function(loss_fn: Any) -> None:
    """Raise UserError for the class of a loss in place of an instance."""
    if isinstance(loss_fn, type):
        name = loss_fn.__name__
        raise UserError(
            f"loss_fn must be a function or an instance of a loss, got the class {name}: make one, {name}()"
        )


def check_gradients_are_on() -> None:
    """Raise UserError under ``torch.no_grad()``, where the trial of a model sees no gradient."""
    if not torch.is_grad_enabled():
        raise UserError(
            "gradients are switched off here, as under torch.no_grad(): make this call outside, or within "
            "torch.enable_grad()"
        )


def check_model(model: nn.Module) -> None:
    """Raise UserError for DataParallel, similar wrappers and models that are divided among processes."""
    check_is_module(model)
    check_fsdp1(model)
    if is_sharded(model):
        raise UserError(
            "fully_shard has divided this model among processes, so that no process has a gradient of its "
            "own: call ilc.distributed.backward in every process, with the same arguments, or ilc.accumulate"
        )
    # The checks are by name, because an import of the distributed wrappers takes time and warns.
    if type(model).__module__.startswith("deepspeed."):
        raise UserError(
            f"{type(model).__name__} keeps parameters in pieces and gradients of its own, so that no "
            "environment can vote: give the model from before it was wrapped, and use "
            "ilc.distributed.backward for several processes"
        )
    if type(model).__module__.startswith(("torch.nn.parallel.", "torch.distributed.")):
        raise UserError(
            f"{type(model).__name__} splits batches or averages gradients before any environment can vote: "
            "give model.module instead, and use ilc.distributed.backward for several processes"
        )


def check_fsdp1(model: nn.Module) -> None:
    """Raise UserError for FSDP1, which sends the gradients of many parameters as one flat sum."""
    if is_in_fsdp1(model):
        raise UserError(
            "FullyShardedDataParallel (FSDP1) adds up gradients before any environment can vote: shard the "
            "model with torch.distributed.fsdp.fully_shard (FSDP2) and call ilc.distributed.backward"
        )


class Attempt(NamedTuple):
    """A step that ended with an error, so that other ways can be tried.

    Attributes:
        gradients: the way that failed.
        ways: all ways by name.
        model: the model as before the step.
        objective: the objective as before the step.
        inputs: the inputs as before the step.
        targets: the targets as before the step.
    """

    gradients: str
    ways: Mapping[str, Callable[..., Any]]
    model: nn.Module
    objective: ObjectiveFunction
    inputs: Values | list[Values]
    targets: Values | list[Values]

    def error_of(self, way: str) -> Exception | None:
        """The error that another way ends with, or None. Model, loss and random numbers do not change."""
        everything = range(len(self.inputs))
        x: Any = copied(self.inputs, everything)
        y: Any = copied(self.targets, everything)
        if not isinstance(self.inputs, list):
            x, y = stacked(x), stacked(y)
        looked_at = (
            no_state_between_environments(self.model, self.objective, x, y, vectorized=False)
            if way == "sequential"
            else nullcontext()
        )
        try:
            if way == "per_example_loss":
                check_losses(self.model, self.objective, x, y)
            with trial_passes(self.model, self.objective, x[0]), looked_at:
                self.ways[way](self.model, self.objective, x, y)
        except Exception as error:
            return error
        return None


def explained(error: Exception, attempt: Attempt) -> Exception:
    """Return one line that names another way if that way works, else the error itself.

    If no other way works, the mistake lies in the model or the data. The other ways are tried only after an
    error, so a step without an error costs nothing more.
    """
    for other in OTHER_WAYS.get(attempt.gradients, ()):
        better = attempt.error_of(other)
        if isinstance(better, UserError):
            return better
        if better is None:
            said = " ".join(str(error).split())
            return UserError(
                f"gradients={attempt.gradients!r} cannot handle this model or this risk "
                f"({type(error).__name__}: {said[:160]}): use gradients={other!r}, which can handle both"
            )
    if "through the graph a second time" in str(error):
        return UserError(
            "a pass needs the graph of an earlier pass, which is freed by then, as for a weight in "
            "torch.nn.utils.parametrize.cached() or a tensor that the model keeps: let each pass compute it "
            "anew, or detach it"
        )
    if "modified by an inplace operation" in str(error):
        return UserError(
            "the model or the risk changes a tensor in place between two environments, although the "
            "gradient still needs the old values: assign a new tensor (s = 0.9 * s in place of "
            "s.mul_(0.9)), or clone it"
        )
    return error


def with_a_remedy_that_works(error: UserError, attempt: Attempt) -> UserError:
    """Return the refusal if the way that it names works, else one that names the next way that works."""
    text = str(error)
    others = OTHER_WAYS.get(attempt.gradients, ())
    named = [way for way in others if f"gradients='{way}'" in text]
    if not named or attempt.error_of(named[0]) is None:
        return error
    for other in others:
        if other not in named and attempt.error_of(other) is None:
            return UserError(
                f"{text}. But gradients={named[0]!r} cannot handle this model either: use "
                f"gradients={other!r} instead"
            )
    return error
