"""Hugging Face's ``Trainer`` with environments that vote."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, Sampler
from transformers import Trainer

from ilc.aggregators import Aggregator
from ilc.errors import UserError
from ilc.gradients import BackwardResult
from ilc.integrations._accelerate import EnvironmentVotes
from ilc.integrations._collate import EachEnvironment, Environments
from ilc.integrations._column import column
from ilc.integrations._sampler import EnvironmentSampler
from ilc.integrations._trainer_arguments import check_arguments


class EnvironmentTrainer(Trainer):  # type: ignore[misc]
    """A ``Trainer`` whose training data have a column that names each example's environment.

    Every update has equally many examples of each environment. With ``gradient_accumulation_steps`` the
    environments are spread over the micro-batches, so that an update is that of one batch with all of them.
    ``data_collator`` makes a batch of each environment's examples, and the loss of the environment is what
    ``compute_loss`` returns for it. Evaluation, saving, logging, schedules and clipping are those of
    ``Trainer``. The last update's kept shares are in ``result``.

    Args:
        *args: as for ``Trainer``.
        aggregator: how the environments' gradients become one update.
        environment: the column of ``train_dataset``, such as ``"domain"``. The model does not see it.
        **kwargs: as for ``Trainer``.

    Raises:
        UserError: ``aggregator`` is no aggregator; or training would be in several processes or on several
            devices, or with DeepSpeed, FSDP or an optimizer that steps inside the backward pass; or batches
            would be cut or come in another order. When training begins: the column is missing or has one
            value, or the environments do not fit into the batches.
    """

    data_collator: Any

    def __init__(self, *args: Any, aggregator: Aggregator, environment: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._aggregator = aggregator
        self._environment = environment
        self._examples = 0
        self._begin()

    def _begin(self) -> None:
        """Begin the votes of one training, with the accelerator and the arguments that it has."""
        self._votes = EnvironmentVotes(self.accelerator, self._aggregator)
        check_arguments(self.args, self.accelerator)

    @property
    def result(self) -> BackwardResult | None:
        """What ``ilc.backward`` returns, for the last update; None before the first."""
        return self._votes.result

    def _inner_training_loop(self, *args: Any, **kwargs: Any) -> Any:
        # An interrupted training may have collected environments of an update that will not come, and a
        # search of hyperparameters makes another accelerator for each training.
        self._begin()
        return super()._inner_training_loop(*args, **kwargs)

    def training_step(
        self, model: nn.Module, inputs: list[Any], num_items_in_batch: Tensor | int | None = None
    ) -> Tensor:
        """Let the environments of a micro-batch vote.

        Args:
            model: the model as ``Trainer`` has wrapped it.
            inputs: the micro-batch, a list with a batch for each of its environments.
            num_items_in_batch: not used, because every environment weighs the same.

        Returns:
            The mean risk, detached, divided by the number of micro-batches, as ``Trainer`` logs it.

        Raises:
            UserError: as for ``ilc.accumulate``, or the micro-batch is not from ``get_train_dataloader``.
        """
        if not isinstance(inputs, Environments):
            raise UserError(
                "EnvironmentTrainer trains on a batch per environment, as its own get_train_dataloader makes "
                f"them, got {type(inputs).__name__}: give it train_dataset and data_collator, not a loader"
            )
        model.train()
        if callable(getattr(self.optimizer, "train", None)):
            self.optimizer.train()
        batches = [self._without_column(self._prepare_inputs(one)) for one in inputs]
        with self.compute_loss_context_manager():
            risks = self._votes.backward(model, [partial(self.compute_loss, model, one) for one in batches])
        mean: Tensor = risks.mean() / self.current_gradient_accumulation_steps
        return mean

    def get_train_dataloader(self) -> Any:
        """Return micro-batches that are lists with a batch for each environment."""
        if isinstance(self.train_dataset, torch.utils.data.IterableDataset):
            raise UserError(
                "EnvironmentTrainer chooses examples of every environment, and an IterableDataset gives them "
                "in its own order: give a dataset with a length and items by number"
            )
        collate = EachEnvironment(self.data_collator)
        # Evaluation takes whole batches, so that its collator stays what it is.
        self.data_collator = collate
        try:
            loader = super().get_train_dataloader()
        finally:
            self.data_collator = collate.collate
        collate.examples, collate.environments = self._examples, self._train_batch_size // self._examples
        return loader

    def _get_train_sampler(self, train_dataset: Dataset[Any] | None = None) -> Sampler[int]:
        if self.args.train_sampling_strategy != "random":
            raise UserError(
                f"train_sampling_strategy={str(self.args.train_sampling_strategy)!r} and environments each "
                "ask for an order of the examples: leave it at 'random'"
            )
        # What Trainer gives has lost the columns that the model does not take.
        labels = column(self.train_dataset, self._environment)
        if train_dataset is not None and len(train_dataset) != len(labels):  # type: ignore[arg-type]
            raise UserError(
                f"train_dataset has {len(labels)} examples, but training would draw from "
                f"{len(train_dataset)} examples whose environments are unknown: "  # type: ignore[arg-type]
                "choose the examples before you give train_dataset"
            )
        steps, batch = self.args.gradient_accumulation_steps, self._train_batch_size
        n = len(EnvironmentSampler(labels, examples=1).environments)
        if n % steps or batch * steps % n:
            raise UserError(
                f"{n} environments do not fit into gradient_accumulation_steps={steps} micro-batches of "
                f"per_device_train_batch_size={batch}: let the steps divide {n}, and let the size be a "
                f"multiple of {n} divided by the steps"
            )
        self._examples = batch * steps // n
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        return EnvironmentSampler(labels, self._examples, seed)

    def _without_column(self, batch: Any) -> Any:
        """The batch as the model takes it."""
        self._set_signature_columns_if_needed()
        if not isinstance(batch, Mapping) or self._environment in self._signature_columns:
            return batch
        return {key: value for key, value in batch.items() if key != self._environment}

    def floating_point_ops(self, inputs: Any) -> int:
        """Return the operations of all environments, as ``Trainer`` counts them."""
        parts = inputs if isinstance(inputs, Environments) else [inputs]
        return sum(super(EnvironmentTrainer, self).floating_point_ops(one) for one in parts)

    def _track_num_input_tokens(self, inputs: Any) -> None:
        for one in inputs if isinstance(inputs, Environments) else [inputs]:
            super()._track_num_input_tokens(one)
