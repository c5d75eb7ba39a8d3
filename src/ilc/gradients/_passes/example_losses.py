"""The loss of each example: all losses at once if ``vmap`` can follow the loss function, else one by one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients._environment import as_objective, trainable_parameters
from ilc.gradients._passes.example_objectives import example_objectives
from ilc.gradients._trials.findings import current_step, findings
from ilc.gradients._trials.trial_passes import copied, trial_passes
from ilc.objectives import Objective, ObjectiveFunction

_QUESTION = "whether losses go one by one"


def losses_of_examples(
    model: nn.Module, loss_fn: ObjectiveFunction, outputs: Tensor, targets: Tensor
) -> Objective:
    """Compute ``example_objectives`` in the way that ``check_losses`` found to work.

    Raises:
        UserError: as for ``example_objectives``.
    """
    step = current_step(model)
    one_by_one = step is not None and step.known.get(_QUESTION, False)
    return example_objectives(loss_fn, outputs, targets, one_by_one)


def check_losses(model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor) -> None:
    """Try the loss on two examples, when model and loss are new or have changed.

    A loss that looks at numbers (``.item()``, a branch, a mask of examples) goes one example at a time.

    Raises:
        UserError: the loss keeps state, so that the risk of one example depends on another example.
    """
    known = findings(model, loss_fn)
    if _QUESTION in known:
        return
    trainable_parameters(model)  # This refuses a model before any pass touches it.
    few = [0, len(inputs) - 1]
    with trial_passes(model, loss_fn, inputs) as passes:
        passes.reset()
        outputs = model(torch.stack(copied(inputs, few)).flatten(0, 1))
        if not isinstance(outputs, Tensor) or len(outputs) != len(few):
            return  # The step itself reports this.
        outputs = outputs.detach()
        if outputs.is_floating_point():
            outputs.requires_grad_()

        def last(*examples: int) -> Tensor:
            passes.reset()
            for i in examples:
                (y,) = copied(targets, [few[i]])
                risk = as_objective(loss_fn(outputs[i : i + 1].clone(), y)).risk.detach()
            return risk

        try:
            passes.reset()
            example_objectives(loss_fn, outputs.clone(), torch.stack(copied(targets, few)))
            known[_QUESTION] = False
        except UserError:
            raise
        except Exception:
            known[_QUESTION] = True
        if not torch.allclose(last(1), last(0, 1), equal_nan=True):
            del known[_QUESTION]
            raise UserError(
                "the loss keeps a value from one call to the next, so that the risk of an example depends "
                "on the examples before it: change this value between the steps, or make it a buffer of the "
                "model"
            )
