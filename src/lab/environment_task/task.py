"""Training with the gradients of environments: one step per batch, an aggregator, an optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn, optim

from ilc._processes import current
from ilc._seeding import generator_for, seed_for
from ilc.aggregators import Aggregator
from ilc.errors import UserError
from ilc.gradients import WAYS
from ilc.objectives import RISKS, Risk
from ilc.optim import Regularizer
from lab.configuration.section import Section
from lab.data import Environments
from lab.environment_task.batches import BatchOptions
from lab.environment_task.evaluation import evaluate
from lab.environment_task.fitting import check_fit
from lab.environment_task.method import Method, as_method
from lab.environment_task.optimizer import build_optimizer
from lab.environment_task.schedule import Schedule
from lab.environment_task.step_record import StepRecord, check_optimizer
from lab.machine.stop_signals import asked
from lab.runs.one_run.random_state import seed_everything
from lab.runs.one_run.run_options import RunOptions
from lab.runs.one_run.selection import check_selection
from lab.runs.one_run.task import CONVERGED, Interrupted, Metrics


@dataclass(frozen=True)
class _BegunEpoch:
    """What an epoch's steps saw so far, and the sampler as it was before the epoch."""

    seen: StepRecord
    sampler: dict[str, Tensor]


class EnvironmentTask:
    """A ``Task`` whose steps aggregate the gradients of environments.

    Of several processes each takes its part of the environments of every batch; see ``ilc.distributed``.

    Args:
        run: what every run has.
        device: where it all happens.
        risk: name of the risk.
        gradients: name of the way to obtain environment gradients.
        dataset: makes ``Environments``; ``batch_size`` and ``batches`` are the sampler's.
        model: made with the inputs' channels and the number of outputs.
        aggregator: an aggregator or a method.
        optimizer: with ``weight_decay``, ``decoupled`` and ``l1``, which are the regularizer's.
        trainer: the learning rate's course, and what is measured.

    Raises:
        UserError: an unknown name, an option that somebody refuses, parts that do not fit together.
    """

    shares_steps: ClassVar[bool] = True

    def __init__(
        self,
        run: RunOptions,
        device: torch.device,
        risk: str,
        gradients: str,
        dataset: Annotated[Section, BatchOptions],
        model: Section,
        aggregator: Section,
        optimizer: Annotated[Section, Regularizer],
        trainer: Schedule,
    ) -> None:
        for key, value, known in (("risk", risk, RISKS), ("gradients", gradients, WAYS)):
            if value not in known:
                raise UserError(f"{key} must be one of {', '.join(known)}, got {value!r}")
        self.processes = current()
        self.risk: Risk = RISKS[risk]
        self.gradients = gradients
        self.schedule = trainer
        aggregator = aggregator.offered(seed=seed_for(run.seed, "aggregator"))
        self.method: Method = as_method(aggregator.build(kinds=(Method, Aggregator)), aggregator.name)
        # The data takes longest, so it comes after what can be refused at once.
        self.data: Environments = _build_data(dataset, run).to(device)
        check_selection(run.trainer.selection, self.data.evaluation)
        check_fit(self.data, dataset, model, risk)
        seed_everything(seed_for(run.seed, "model and dropout"))
        self.model: nn.Module = _build_model(model, self.data, self.method).to(device)
        self.optimizer, self.regularizer = build_optimizer(optimizer, self.model, self.method)
        milestones = [int(fraction * run.trainer.max_epochs) for fraction in trainer.milestones]
        self.scheduler = optim.lr_scheduler.MultiStepLR(self.optimizer, milestones, gamma=trainer.lr_decay)
        batches = dataset.part(BatchOptions, gradients, generator_for(run.seed, "batches"), device)
        self.sampler = self.method.sampler(self.data, batches)
        self.step = 0
        self._begun: _BegunEpoch | None = None

    def train_epoch(self) -> Metrics:
        """Take one step per batch, or fewer where ``trainer.stop_at_loss`` is reached.

        Returns:
            ``mask/density``, the mean kept share of the steps; ``epoch/risk`` and, where the method adds
            one, ``epoch/penalty``, their means; on request ``mask/density/NAME`` of every parameter;
            ``converged`` when ``trainer.stop_at_loss`` is reached.

        Raises:
            UserError: a risk, a penalty or a parameter is no longer finite.
            Interrupted: asked to stop between two steps; the next call does the rest of the epoch.
        """
        self.model.train()
        begun = self._begun or _BegunEpoch(StepRecord(self.step), self.sampler.state_dict())
        self._begun = None
        seen = begun.seen
        lr = self.optimizer.param_groups[0]["lr"]
        if lr > torch.finfo(torch.float32).max:
            raise UserError(
                f"training diverged: the learning rate is {lr:g}, beyond what a step can multiply by. Take a "
                "smaller optimizer.lr or trainer.lr_decay. What was written before stays as it is"
            )
        converged = False
        # An epoch that was begun draws the same batches again; those that had their step are skipped.
        for inputs, targets in islice(self.sampler, len(seen.risks), self.schedule.steps_per_epoch):
            # Never before the first step, so that something was seen; after the last, the epoch ends first.
            if seen.risks and self.processes.any(asked() is not None):
                self._begun = begun
                raise Interrupted
            self.take_step(inputs, targets, seen)
            converged = self._has_converged(seen)
            if converged:
                break
        self.scheduler.step()
        # Looked at once per epoch, so that an accelerator need not be waited for at every step.
        seen.check(self.method, self.model, lr, self.scheduler.last_epoch)
        metrics = seen.means(self.method.adds_penalty)
        return {**metrics, CONVERGED: 1} if converged else metrics

    def _has_converged(self, seen: StepRecord) -> bool:
        """Whether the training risk is as low as ``trainer.stop_at_loss`` asks for."""
        limit = self.schedule.stop_at_loss
        # The batch's risk is nearly free; only when it is low is the whole training set asked.
        if limit is None or float(seen.risks[-1]) > 2 * limit:
            return False
        some = self.data.pooled().spread(self.schedule.evaluation_examples)
        return evaluate(self.model, some, self.risk, self.processes)["loss"] <= limit

    def take_step(self, inputs: Tensor, targets: Tensor, seen: StepRecord) -> None:
        """One step along the aggregated gradient of a batch ``[E, N, ...]``."""
        method, optimizer = self.method, self.optimizer
        lr = optimizer.param_groups[0]["lr"]
        method.before_step(self.step, optimizer)
        result = method.backward(
            self.processes,
            self.model,
            method.objective(self.risk),
            inputs,
            method.prepare_targets(targets),
            self.gradients,
        )
        self.regularizer.before_step(method.loss_scale)
        optimizer.step()
        self.regularizer.after_step(lr)
        by_parameter = result.kept_share if self.schedule.kept_share_by_parameter else {}
        seen.add(result.risks, result.penalties, method.kept_share(result, optimizer), by_parameter)
        self.step += 1

    def evaluate(self) -> Metrics:
        """Risk and accuracy of the training data and of every evaluation split; what method and model add.

        Raises:
            UserError: what the optimizer remembers is no longer finite.
        """
        check_optimizer(self.optimizer, self.step)
        metrics: Metrics = {}
        for name, split in {"train": self.data.pooled(), **self.data.evaluation}.items():
            some = split.spread(self.schedule.evaluation_examples)
            for key, value in evaluate(self.model, some, self.risk, self.processes).items():
                metrics[f"{name}/{key}"] = value
        metrics |= self.method.metrics(self.model, self.data, self.risk)
        reported = getattr(self.model, "reported_metrics", dict)
        return metrics | reported()

    def remarks(self, evaluations: Sequence[Metrics], selected: Metrics) -> dict[str, Any]:
        """The data's references, ``weights`` of a model that reports them, the method's ``warning``."""
        remarks: dict[str, Any] = dict(self.data.references)
        weights = [value for key, value in selected.items() if key.startswith("weight/")]
        if weights:
            remarks["weights"] = weights
        warning = self.method.warning(evaluations[-1], self.data, self.risk)
        return remarks if warning is None else {**remarks, "warning": warning}

    def state_dict(self) -> dict[str, Any]:
        """Model, optimizer, learning rate's course, sampler and counters; of an epoch begun, what it saw."""
        begun = self._begun
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": _plain(self.scheduler.state_dict()),
            "aggregator": self.method.state_dict(),
            "sampler": self.sampler.state_dict() if begun is None else begun.sampler,
            "step": self.step,
            "epoch_begun": None if begun is None else begun.seen.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.method.load_state_dict(state["aggregator"])
        self.sampler.load_state_dict(state["sampler"])
        self.step = state["step"]
        seen = state.get("epoch_begun")  # Absent before 0.2.
        device = next(self.model.parameters()).device
        self._begun = None if seen is None else _BegunEpoch(StepRecord.of(seen, device), state["sampler"])


def _build_data(section: Section, run: RunOptions) -> Environments:
    """The dataset; ``seed`` and ``data_dir`` go to those that take them."""
    section = section.without(BatchOptions)
    section = section.offered(seed=seed_for(run.seed, "data"), data_dir=run.data_dir)
    data: Environments = section.build(kinds=(Environments,))
    return data


def _build_model(section: Section, data: Environments, method: Method) -> nn.Module:
    model: nn.Module = section.build(data.inputs.shape[2], data.n_outputs, kinds=(nn.Module,))
    method.check_model(model, data)
    partner = getattr(model, "only_with", method.name)
    if partner != method.name:
        raise UserError(
            f"aggregator={partner} and model={section.name} need each other: choose both, or neither"
        )
    return model


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """MultiStepLR keeps its milestones in a Counter, which only unpickling code could restore."""
    return {key: dict(value) if key == "milestones" else value for key, value in values.items()}
