"""The loss of each example: all losses at once if ``vmap`` can follow the loss function, else one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients._environment import trainable_parameters
from ilc.gradients._passes.calls import outputs_of, rows_of_outputs
from ilc.gradients._passes.example_objectives import example_objectives, objective_of_example
from ilc.gradients._tensor_tree import Values, changed, stacked
from ilc.gradients._trials.findings import current_step, findings
from ilc.gradients._trials.trial_passes import TrialPasses, copied, trial_passes
from ilc.objectives import Objective, ObjectiveFunction

_QUESTION = "whether losses go one by one"


def losses_of_examples(
    model: nn.Module, loss_fn: ObjectiveFunction, outputs: Any, targets: Values
) -> Objective:
    """Compute ``example_objectives`` in the way that ``check_losses`` found to work.

    Raises:
        UserError: as for ``example_objectives``.
    """
    step = current_step(model)
    one_by_one = step is not None and step.known.get(_QUESTION, False)
    return example_objectives(loss_fn, outputs, targets, one_by_one)


def pass_of_examples(
    model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values
) -> Objective:
    """Compute ``losses_of_examples`` from the inputs ``[E, 1, ...]``, in one pass of all examples.

    Raises:
        UserError: as for ``example_objectives``.
    """
    return losses_of_examples(model, loss_fn, outputs_of(model, inputs.flatten(0, 1)), targets)


def check_losses(model: nn.Module, loss_fn: ObjectiveFunction, inputs: Values, targets: Values) -> None:
    """Try the loss on a few examples, when model and loss are new or have changed.

    A loss that looks at numbers (``.item()``, a branch, a mask of examples) goes one example at a time.

    Raises:
        UserError: the loss keeps state, so that the risk of one example depends on another example.
    """
    known = findings(model, loss_fn)
    if _QUESTION in known:
        return
    trainable_parameters(model)  # This refuses a model before any pass touches it.
    # Another number than in the step: a vector of that length could be taken for a row for each example.
    few = [0, len(inputs) - 1] if len(inputs) != 2 else [0, 1, 0]
    with trial_passes(model, loss_fn, inputs) as passes:
        outputs = _outputs_of(model, inputs, few, passes)
        if outputs is None:
            return  # The step itself reports this.
        outputs = changed(outputs, lambda values: values.detach().requires_grad_(values.is_floating_point()))

        def last(*examples: int) -> Tensor:
            passes.reset()
            for i in examples:
                (y,) = copied(targets, [few[i]])
                risk = objective_of_example(loss_fn, outputs[i : i + 1].clone(), y).risk.detach()
            return risk

        one_by_one = False
        try:
            passes.reset()
            example_objectives(loss_fn, outputs.clone(), stacked(copied(targets, few)))
        except UserError:
            raise
        except Exception:
            one_by_one = True
        if not torch.allclose(last(1), last(0, 1), equal_nan=True):
            raise UserError(
                "the loss keeps a value from one call to the next, so that the risk of an example depends "
                "on the examples before it: change this value between the steps, or make it a buffer of the "
                "model"
            )
    known[_QUESTION] = one_by_one


def _outputs_of(model: nn.Module, inputs: Values, few: list[int], passes: TrialPasses) -> Values | None:
    """The outputs for a few examples; None if they have no row for each example."""

    def rows(which: Sequence[int]) -> Values | None:
        passes.reset()
        return rows_of_outputs(outputs_of(model, stacked(copied(inputs, which)).flatten(0, 1)), len(which))

    try:
        return rows(few)
    except UserError:
        raise
    except Exception:  # Some layers need more examples, such as a norm over parts of the batch.
        outputs = rows(range(len(inputs)))
        return None if outputs is None else outputs[few]
