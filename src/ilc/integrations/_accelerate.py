"""Environments that vote in a loop of Hugging Face's ``accelerate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from ilc import distributed
from ilc.aggregators import Aggregator
from ilc.errors import UserError
from ilc.gradients import BackwardResult
from ilc.gradients._batches import Batch
from ilc.gradients._ways.of_losses import Loss
from ilc.integrations._scaled import scaled
from ilc.integrations._update import Update

if TYPE_CHECKING:
    from accelerate import Accelerator


class EnvironmentVotes:
    """What takes the place of ``accelerator.backward(loss)``.

    It works with ``accelerator.accumulate``, mixed precision, ``clip_grad_norm_`` and prepared optimizers and
    schedules. With accumulation the update is that of all environments of all micro-batches, of which each
    has one vote. In several processes each one has its own environments, and the update is that of all.

    Args:
        accelerator: prepared or not; it must not run DeepSpeed, FSDP or Megatron-LM.
        aggregator: how the environments' gradients become one update.

    Raises:
        UserError: the accelerator runs something that keeps gradients of its own, or is no
            ``accelerate.Accelerator``.
    """

    def __init__(self, accelerator: Accelerator, aggregator: Aggregator) -> None:
        if not hasattr(accelerator, "distributed_type"):
            raise UserError(
                "accelerator must be an accelerate.Accelerator, got an object of type "
                f"{type(accelerator).__name__}"
            )
        self._accelerator = accelerator
        self._update = Update(aggregator)
        self._check()

    @property
    def result(self) -> BackwardResult | None:
        """What ``ilc.backward`` returns, for the last update; None before the first."""
        return self._update.result

    def backward(
        self,
        model: nn.Module,
        loss_fn: Loss,
        inputs: Batch = None,
        targets: Batch = None,
        gradients: str = "vectorized",
    ) -> Tensor:
        """Let environments vote, and fill ``.grad`` if this is the last micro-batch of an update.

        Args:
            model: as ``accelerator.prepare`` returned it.
            loss_fn: as for ``ilc.backward``.
            inputs: as for ``ilc.backward``.
            targets: as for ``ilc.backward``.
            gradients: as for ``ilc.backward``.

        Returns:
            The risks of these environments, detached; in several processes those of all processes.

        Raises:
            UserError: as for ``ilc.backward`` and, with accumulation, ``ilc.accumulate``; the optimizer was
                not prepared although losses are scaled, or the aggregator does not work with scaled losses;
                or several processes accumulate.
        """
        accelerator = self._accelerator
        self._check()
        if accelerator.scaler is not None and not accelerator._optimizers:
            raise UserError(
                "accelerate scales losses in half precision, and no optimizer was prepared that would divide "
                "the gradients again: call optimizer = accelerator.prepare(optimizer)"
            )
        aggregator = self._update.aggregator
        plain, loss_fn = accelerator.unwrap_model(model), scaled(loss_fn, accelerator.scaler, aggregator)
        if accelerator.num_processes > 1:
            if accelerator.gradient_accumulation_steps > 1:
                raise UserError(
                    f"{accelerator.num_processes} processes and gradient_accumulation_steps="
                    f"{accelerator.gradient_accumulation_steps} do not go together with votes: set the steps "
                    "to 1, and give each process fewer environments"
                )
            result = distributed.backward(plain, loss_fn, inputs, targets, aggregator, gradients)
            self._update.result = result
            return result.risks
        last = accelerator.sync_gradients
        risks = self._update.collect(plain, loss_fn, inputs, targets, gradients, last=last)
        if last:
            self._update.fill()
        return risks

    def _check(self) -> None:
        kind = self._accelerator.distributed_type.value
        if kind != "NO" and not kind.startswith("MULTI_"):
            raise UserError(
                f"accelerate runs {kind}, which keeps gradients of its own, so that no environment can vote: "
                "train in one process or in plain data parallel, without DeepSpeed, FSDP and Megatron-LM"
            )
        if self._accelerator.has_lomo_optimizer:
            raise UserError(
                "a LOMO optimizer makes its steps inside the backward pass, before the environments have "
                "voted: take another optimizer, such as torch.optim.AdamW"
            )
