"""Hugging Face's ``Trainer`` with environments that vote."""

from __future__ import annotations

from collections.abc import Sequence
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
from ilc.integrations._sampler import EnvironmentSampler


class EnvironmentTrainer(Trainer):  # type: ignore[misc]
    """A ``Trainer`` whose training data have a column that names each example's environment.

    Every update has equally many examples of each environment. With ``gradient_accumulation_steps`` the
    environments are spread over the micro-batches, so that an update is that of one batch with all of them.
    The loss of an environment is what ``compute_loss`` returns for its examples. Evaluation, saving, logging,
    schedules and clipping are those of ``Trainer``. The last update's kept shares are in ``result``.

    Args:
        *args: as for ``Trainer``.
        aggregator: how the environments' gradients become one update.
        environment: the column of ``train_dataset``, such as ``"domain"``. The model does not see it.
        **kwargs: as for ``Trainer``.

    Raises:
        UserError: the aggregator is none; or training would be in several processes or on several devices, or
            with DeepSpeed, FSDP or an optimizer that steps inside the backward pass. When training begins:
            the column is missing or has one value, or the environments do not fit into the batches.
    """

    def __init__(self, *args: Any, aggregator: Aggregator, environment: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._votes = EnvironmentVotes(self.accelerator, aggregator)
        self._environment = environment
        self._examples = 0
        if self.args.world_size > 1 or self.args.n_gpu > 1:
            raise UserError(
                f"EnvironmentTrainer trains on one device, got {self.args.world_size} processes and "
                f"{self.args.n_gpu} GPUs: start one process, with CUDA_VISIBLE_DEVICES naming one GPU"
            )
        optim = str(getattr(self.args.optim, "value", self.args.optim))
        if "lomo" in optim:
            raise UserError(
                f"optim={optim!r} makes its steps inside the backward pass, before the "
                "environments have voted: take another one, such as optim='adamw_torch'"
            )

    @property
    def result(self) -> BackwardResult | None:
        """What ``ilc.backward`` returns, for the last update; None before the first."""
        return self._votes.result

    def _inner_training_loop(self, *args: Any, **kwargs: Any) -> Any:
        # An interrupted training may have collected environments of an update that will not come.
        self._votes._begin()
        return super()._inner_training_loop(*args, **kwargs)

    def training_step(
        self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Tensor | int | None = None
    ) -> Tensor:
        """Let the environments of a micro-batch vote.

        Args:
            model: the model as ``Trainer`` has wrapped it.
            inputs: the micro-batch, whose tensors are ``[B, ...]`` with whole environments in turn.
            num_items_in_batch: not used, because every environment weighs the same.

        Returns:
            The mean risk, detached, divided by the number of micro-batches, as ``Trainer`` logs it.

        Raises:
            UserError: as for ``ilc.accumulate``, or a tensor of the batch has no row per example.
        """
        model.train()
        if callable(getattr(self.optimizer, "train", None)):
            self.optimizer.train()
        batches = self._by_environment(self._prepare_inputs(inputs))
        with self.compute_loss_context_manager():
            risks = self._votes.backward(model, [partial(self.compute_loss, model, one) for one in batches])
        mean: Tensor = risks.mean() / self.current_gradient_accumulation_steps
        return mean

    def get_train_dataloader(self) -> Any:
        """Return batches with whole environments."""
        if isinstance(self.train_dataset, torch.utils.data.IterableDataset):
            raise UserError(
                "EnvironmentTrainer chooses examples of every environment, and an IterableDataset gives them "
                "in its own order: give a dataset with a length and items by number"
            )
        return super().get_train_dataloader()

    def _get_train_sampler(self, train_dataset: Dataset[Any] | None = None) -> Sampler[int]:
        if self.args.train_sampling_strategy != "random":
            raise UserError(
                f"train_sampling_strategy={str(self.args.train_sampling_strategy)!r} and environments each "
                "ask for an order of the examples: leave it at 'random'"
            )
        dataset = self.train_dataset if train_dataset is None else train_dataset
        labels, steps = _column(dataset, self._environment), self.args.gradient_accumulation_steps
        n, batch = len(set(labels)), self._train_batch_size
        if n > 1 and (n % steps or batch * steps % n):
            raise UserError(
                f"{n} environments do not fit into gradient_accumulation_steps={steps} micro-batches of "
                f"per_device_train_batch_size={batch}: let the steps divide {n}, and let the size be a "
                f"multiple of {n} divided by the steps"
            )
        self._examples = batch * steps // n
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        return EnvironmentSampler(labels, max(1, self._examples), seed)

    def _by_environment(self, inputs: dict[str, Any]) -> list[dict[str, Any]]:
        self._set_signature_columns_if_needed()
        if self._environment not in self._signature_columns:
            inputs = {key: value for key, value in inputs.items() if key != self._environment}
        tensors = {key: value for key, value in inputs.items() if isinstance(value, Tensor)}
        rows = self._train_batch_size
        wrong = next((key for key, value in tensors.items() if value.shape[:1] != (rows,)), None)
        if wrong is not None:
            raise UserError(
                f"{wrong!r} has shape {tuple(tensors[wrong].shape)} and not a row for each of the {rows} "
                "examples, so that no environment's part can be taken: let data_collator return such rows"
            )
        parts = [slice(start, start + self._examples) for start in range(0, rows, self._examples)]
        return [{**inputs, **{key: value[part] for key, value in tensors.items()}} for part in parts]


def _column(dataset: Any, name: str) -> Sequence[Any]:
    """The environment of each example."""
    known = getattr(dataset, "column_names", None)
    if known is None:
        items = [dataset[i] for i in range(len(dataset))]
        known = list(items[0]) if items and isinstance(items[0], dict) else []
        column = [item[name] for item in items] if name in known else []
    else:
        column = list(dataset[name]) if name in known else []
    if name not in known:
        raise UserError(
            f"train_dataset has no column {name!r} that names the environments, it has "
            f"{', '.join(map(str, known)) or 'no columns'}: give environment= the name of one"
        )
    return [value.item() if isinstance(value, Tensor) else value for value in column]
