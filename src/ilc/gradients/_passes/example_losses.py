"""How the loss of each example is obtained: all at once where ``vmap`` can follow it, else one by one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.gradients._environment import as_objective, trainable_parameters
from ilc.gradients._passes.example_objectives import example_objectives
from ilc.gradients._trials.findings import step_of, verdicts
from ilc.gradients._trials.trial_passes import copied, trial
from ilc.objectives import Objective, ObjectiveFunction

_QUESTION = "whether losses go one by one"


def losses_of_examples(
    model: nn.Module, loss_fn: ObjectiveFunction, outputs: Tensor, targets: Tensor
) -> Objective:
    """``example_objectives``, in the way that was found to work.

    Raises:
        UserError: as there.
    """
    step = step_of(model)
    one_by_one = step is not None and step.known.get(_QUESTION, False)
    return example_objectives(loss_fn, outputs, targets, one_by_one)


def check_losses(model: nn.Module, loss_fn: ObjectiveFunction, inputs: Tensor, targets: Tensor) -> None:
    """When model and loss are first met or no longer what they were, try the loss on two examples.

    One that looks at numbers (``.item()``, a branch, a mask of examples) goes one by one.

    Raises:
        UserError: the loss of one example depends on what that of another has left behind.
    """
    known = verdicts(model, loss_fn)
    if _QUESTION in known:
        return
    trainable_parameters(model)  # Refuses a model that no pass should touch yet.
    few = [0, len(inputs) - 1]
    with trial(model, loss_fn, inputs) as passes:
        passes.start()
        outputs = model(torch.stack(copied(inputs, few)).flatten(0, 1))
        if not isinstance(outputs, Tensor) or len(outputs) != len(few):
            return  # The step itself will say so.
        outputs = outputs.detach()
        if outputs.is_floating_point():
            outputs.requires_grad_()

        def last(*examples: int) -> Tensor:
            passes.start()
            for i in examples:
                (y,) = copied(targets, [few[i]])
                risk = as_objective(loss_fn(outputs[i : i + 1].clone(), y)).risk.detach()
            return risk

        try:
            passes.start()
            example_objectives(loss_fn, outputs.clone(), torch.stack(copied(targets, few)))
            known[_QUESTION] = False
        except UserError:
            raise
        except Exception:
            known[_QUESTION] = True
        if not torch.allclose(last(1), last(0, 1), equal_nan=True):
            del known[_QUESTION]
            raise UserError(
                "the loss keeps something from one call to the next, so that the risk of an example depends "
                "on those before it: change it between the steps, or make it a buffer of the model"
            )
