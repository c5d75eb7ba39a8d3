"""What no way or only another one can do: one line with the remedy, not an error from inside torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from torch import Tensor, nn

from ilc.aggregators import Aggregator
from ilc.errors import UserError
from ilc.gradients.left_behind import nothing_left_behind
from ilc.gradients.trial import buffers_untouched
from ilc.objectives import ObjectiveFunction

ANOTHER_WAY = {
    "vectorized": "sequential",
    "per_example": "per_example_loss",
    "per_example_share": "per_example_loss",
    "per_example_loss": "sequential",
}
"""The way that follows more models at the price of more passes."""


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


def explained(
    error: Exception,
    gradients: str,
    ways: Mapping[str, Callable[..., Any]],
    model: nn.Module,
    objective: ObjectiveFunction,
    inputs: Tensor | list[Tensor],
    targets: Tensor | list[Tensor],
) -> Exception:
    """The error of a way, as one line if another way has none; else the mistake is the model's or the data's.

    Costs nothing where all goes well: the other way is tried only now.
    """
    other = ANOTHER_WAY.get(gradients)
    if other is None:
        return error
    looked_at = (
        nothing_left_behind(model, objective, inputs, targets, vectorized=False)
        if other == "sequential"
        else nullcontext()
    )
    try:
        with buffers_untouched(model), looked_at:
            ways[other](model, objective, inputs, targets)
    except UserError as better:
        return better
    except Exception:
        return error
    said = " ".join(str(error).split())
    return UserError(
        f"gradients={gradients!r} cannot follow what the model or the risk does ({type(error).__name__}: "
        f"{said[:160]}): use gradients={other!r}, which can"
    )
