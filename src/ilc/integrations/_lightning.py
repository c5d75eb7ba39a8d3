"""Environments that vote in Lightning's automatic optimisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, ref

import torch
from torch import Tensor

from ilc.aggregators import Aggregator, Mean
from ilc.errors import UserError
from ilc.gradients import BackwardResult, environment_gradients
from ilc.gradients._batches import Batch
from ilc.gradients._ways.of_losses import Loss
from ilc.integrations._scaled import scaled
from ilc.integrations._update import Update


@dataclass
class _InFit:
    """The updates of one call of ``Trainer.fit``.

    Attributes:
        update: that under way.
        optimizer: Lightning's wrapper, which every call makes anew, and by which the call is known. The
            optimizer inside may be that of an earlier call.
        risk: what ``vote`` returned since Lightning's last backward pass; None if nobody voted.
        compared: whether a loss of ``training_step`` was compared with it. Once is enough, and on a GPU the
            comparison has to wait for the pass.
    """

    update: Update
    optimizer: ref[Any]
    risk: Tensor | None = None
    compared: bool = False


# An attribute that differs from step to step would look like a change of the model.
_fits: WeakKeyDictionary[Any, _InFit] = WeakKeyDictionary()


class EnvironmentModule:
    """What a ``LightningModule`` needs beside it, so that its environments vote.

    Put it first and set ``aggregator``; ``training_step`` returns ``self.vote(...)``::

        class Net(EnvironmentModule, LightningModule):
            aggregator = AndMask(agreement_threshold=0.8)

            def training_step(self, batch, batch_idx):
                inputs, targets = batch  # [E, N, ...]
                return self.vote(nn.functional.cross_entropy, inputs, targets)

    Accumulation, clipping, schedules and mixed precision are those of Lightning's ``Trainer``. With
    ``accumulate_grad_batches`` the update is that of all environments of these batches, of which each has one
    vote. With ``automatic_optimization = False`` this class is not needed: call ``ilc.backward``.

    Attributes:
        aggregator: how the environments' gradients become one update. It may change between two updates.
    """

    aggregator: Aggregator

    @property
    def result(self) -> BackwardResult | None:
        """What ``ilc.backward`` returns, for the last update; None before the first."""
        return _fits[self].update.result if self in _fits else None

    def vote(
        self: Any,
        loss_fn: Loss,
        inputs: Batch = None,
        targets: Batch = None,
        gradients: str = "vectorized",
    ) -> Tensor:
        """Let the environments of a batch vote; ``.grad`` is filled when Lightning's backward pass comes.

        Args:
            loss_fn: as for ``ilc.backward``; the model is this module, with its ``forward``.
            inputs: as for ``ilc.backward``.
            targets: as for ``ilc.backward``.
            gradients: as for ``ilc.backward``.

        Returns:
            The mean of the risks, detached: what ``training_step`` returns.

        Raises:
            UserError: as for ``ilc.backward`` and, with accumulation, ``ilc.accumulate``; no backward pass of
                Lightning followed the call before, as when ``training_step`` returned None; there is no
                aggregator, or another one than at the beginning of the update, or one that does not work
                with scaled losses; another base class stands before this one; the module optimises by hand;
                or the strategy is not that of one device.
        """
        self._check()
        if getattr(self.trainer.fit_loop, "_skip_backward", False):
            seen: Tensor = self._pass_without_votes(loss_fn, inputs, targets, gradients)
            return seen
        now = self._in_fit()
        if now.risk is not None:
            raise UserError(
                "there were two batches for one training step, or training_step returned None after "
                "self.vote: give all environments to one call, as lists or as inputs [E, N, ...], and leave "
                "out a batch by returning None before self.vote"
            )
        now.update.change_to(self.aggregator)
        last = self._is_last()
        loss_fn = scaled(loss_fn, self._scaler(), self.aggregator)
        risks: Tensor = now.update.collect(self, loss_fn, inputs, targets, gradients, last=last)
        now.risk = risks.mean()
        return risks.mean()  # Not the same tensor, because training_step may change it in place.

    def _pass_without_votes(
        self: Any, loss_fn: Loss, inputs: Batch, targets: Batch, gradients: str
    ) -> Tensor:
        """Renew the statistics of BatchNorm, for which StochasticWeightAveraging makes a last epoch.

        No optimizer steps there. ``momentum`` is None, which ``torch.func`` cannot follow.
        """
        way = "sequential" if gradients == "vectorized" else gradients
        found = environment_gradients(self, loss_fn, inputs, targets, Mean(), way)
        return found.risks.mean()

    def backward(self: Any, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        """Fill ``.grad`` in place of ``loss.backward()``; Lightning calls this.

        Raises:
            UserError: ``training_step`` did not let any environment vote, or returned another number than
                ``vote``.
        """
        now = _fits.get(self)
        if now is None or now.risk is None or loss.requires_grad:
            raise UserError(
                "training_step of an EnvironmentModule must return self.vote(loss_fn, inputs, targets), and "
                "it returned a loss of its own, in which no environment can vote"
            )
        if not now.compared:
            self._compare(loss, now.risk)
        now.risk, now.compared = None, True
        if self._is_last():
            now.update.fill()

    def _compare(self: Any, loss: Tensor, risk: Tensor) -> None:
        """Refuse a loss that is not the risk as Lightning passes it on."""
        scaler = self._scaler()
        expected = risk / self.trainer.accumulate_grad_batches
        expected = expected if scaler is None else scaler.scale(expected)
        if not torch.allclose(loss, expected.to(loss), rtol=1e-2, equal_nan=True):
            raise UserError(
                "training_step returned another number than self.vote: the environments have voted by then, "
                "so a factor or a further term changes no gradient. Put it into loss_fn, and return what "
                "self.vote returns"
            )

    def _scaler(self: Any) -> torch.amp.GradScaler | None:
        """The scaler of losses in mixed precision with float16."""
        scaler: torch.amp.GradScaler | None = getattr(self.trainer.precision_plugin, "scaler", None)
        return scaler

    def _in_fit(self: Any) -> _InFit:
        """The updates of this call of ``Trainer.fit``; what an interrupted call has collected is given up."""
        optimizer, before = self.optimizers(), _fits.get(self)
        if before is None or before.optimizer() is not optimizer:
            _fits[self] = _InFit(Update(self.aggregator), ref(optimizer))
        return _fits[self]

    def _is_last(self: Any) -> bool:
        """Whether an optimizer step follows this batch, by Lightning's own rule."""
        return not self.trainer.fit_loop._should_accumulate()

    def _check(self: Any) -> None:
        first = next(owner for owner in type(self).__mro__ if "backward" in vars(owner))
        if not issubclass(first, EnvironmentModule):
            raise UserError(
                f"{type(self).__name__} takes its backward pass from {first.__name__}, in which no "
                "environment votes: name EnvironmentModule first, "
                f"class {type(self).__name__}(EnvironmentModule, LightningModule)"
            )
        if getattr(self, "aggregator", None) is None:
            raise UserError(
                f"{type(self).__name__} has no aggregator: set aggregator = AndMask(agreement_threshold=0.8) "
                "in the class or in __init__"
            )
        if not self.automatic_optimization:
            raise UserError(
                "self.vote is for automatic optimisation, and this module sets automatic_optimization = "
                "False: call ilc.backward(self, loss_fn, inputs, targets, aggregator) and step()"
            )
        strategy = type(self.trainer.strategy).__name__
        if strategy != "SingleDeviceStrategy":
            raise UserError(
                f"{strategy} averages or shards gradients before the environments have voted: give the "
                "Trainer devices=1 and strategy='auto', or set automatic_optimization = False and call "
                "ilc.distributed.backward"
            )
