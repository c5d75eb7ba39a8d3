"""Arguments of ``Trainer`` with which environments cannot vote."""

from __future__ import annotations

from typing import Any

from ilc.errors import UserError


def check_arguments(args: Any, accelerator: Any) -> None:
    """Raise UserError if no environment could vote, or the wrong one would.

    Args:
        args: the ``TrainingArguments``.
        accelerator: that of the ``Trainer``.
    """
    if args.world_size > 1 or args.n_gpu > 1:
        raise UserError(
            f"EnvironmentTrainer trains on one device, got {args.world_size} processes and {args.n_gpu} "
            "GPUs: start one process, with CUDA_VISIBLE_DEVICES naming one GPU"
        )
    optim = str(getattr(args.optim, "value", args.optim))
    if "lomo" in optim:
        raise UserError(
            f"optim={optim!r} makes its steps inside the backward pass, before the "
            "environments have voted: take another one, such as optim='adamw_torch'"
        )
    if accelerator.dispatch_batches:
        raise UserError(
            "accelerator_config has dispatch_batches=True, which cuts whatever a batch holds to the rows of "
            "its first tensor: leave it out, as there is one process"
        )
    steps = args.gradient_accumulation_steps
    if steps > 1 and not getattr(args, "dataloader_in_order", True):
        raise UserError(
            f"with gradient_accumulation_steps={steps} and dataloader_in_order=False an environment may vote "
            "twice in an update and another one not at all: leave dataloader_in_order at True"
        )
