"""Training with the gradients of environments: one step per batch, an aggregator, an optimizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn, optim

from ilc.aggregators import Aggregator
from ilc.distributed import current
from ilc.errors import UserError
from ilc.gradients import WAYS
from ilc.objectives import RISKS, Risk
from ilc.optim import Regularizer
from lab.configuration.section import OptionsIn, Section
from lab.data import Environments, Split
from lab.environment_task.batches import BatchOptions
from lab.environment_task.evaluation import evaluate
from lab.environment_task.fitting import check_fit
from lab.environment_task.method import TrainingMethod, as_method
from lab.environment_task.optimizer import build_optimizer, load_optimizer
from lab.environment_task.repeated_step import RepeatedStep, Step, StepNumbers, can_be_repeated
from lab.environment_task.schedule import Schedule
from lab.environment_task.step_record import StepRecord, check_optimizer
from lab.machine.seeding import generator_for, seed_for
from lab.machine.stop_signals import stop_requested
from lab.runs.one_run.diverged import DivergedError
from lab.runs.one_run.random_state import seed_everything
from lab.runs.one_run.run_options import RunOptions
from lab.runs.one_run.selection import check_selection
from lab.runs.one_run.task import CONVERGED, Interrupted, Metrics


@dataclass(frozen=True)
class _BegunEpoch:
    """The record of an unfinished epoch so far, and the state of the sampler before this epoch."""

    seen: StepRecord
    sampler: dict[str, Tensor]


class EnvironmentTask:
    """A ``Task`` whose steps aggregate the gradients of environments.

    If several processes train, each takes a part of the environments of every batch; see ``ilc.distributed``.

    Args:
        run: the options that every run has.
        device: the device on which the task trains.
        risk: the name of the risk.
        gradients: the name of the way to obtain environment gradients.
        dataset: describes ``Environments``.
        batches: the options of the section ``dataset`` that say how batches are drawn.
        model: describes the network, which is built with the inputs' channels and the number of outputs.
        aggregator: describes an aggregator or a method.
        optimizer: describes the optimizer.
        regularizer: the options of the section ``optimizer`` that belong to ``Regularizer``.
        trainer: how the learning rate falls, and what is measured.

    Raises:
        UserError: a name is unknown, an option is refused, or the objects do not fit together.
    """

    shares_steps: ClassVar[bool] = True

    def __init__(
        self,
        run: RunOptions,
        device: torch.device,
        risk: str,
        gradients: str,
        dataset: Section,
        batches: Annotated[Section, OptionsIn("dataset", BatchOptions)],
        model: Section,
        aggregator: Section,
        optimizer: Section,
        regularizer: Annotated[Section, OptionsIn("optimizer", Regularizer)],
        trainer: Schedule,
    ) -> None:
        for key, value, known in (("risk", risk, RISKS), ("gradients", gradients, WAYS)):
            if value not in known:
                raise UserError(f"{key} must be one of {', '.join(known)}, got {value!r}")
        self.processes = current()
        self.risk: Risk = RISKS[risk]
        self.gradients = gradients
        self.schedule = trainer
        aggregator_seed = seed_for(run.seed, "aggregator")
        combine = aggregator.build(kinds=(TrainingMethod, Aggregator), seed=aggregator_seed)
        self.method: TrainingMethod = as_method(combine, aggregator.name)
        # Building the data takes longest, so options that are refused at once come first.
        data: Environments = dataset.build(
            kinds=(Environments,), seed=seed_for(run.seed, "data"), data_dir=run.data_dir
        )
        self.data = data.to(device)
        check_selection(run.trainer.selection, self.data.evaluation)
        check_fit(self.data, dataset, model, risk)
        seed_everything(seed_for(run.seed, "model and dropout"))
        self.model: nn.Module = _build_model(model, self.data, self.method).to(device)
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.regularizer: Regularizer = regularizer.build(parameters)
        self.optimizer = build_optimizer(optimizer, parameters, self.method)
        drops = trainer.drops(run.trainer.max_epochs)
        self.scheduler = optim.lr_scheduler.MultiStepLR(self.optimizer, drops, gamma=trainer.lr_decay)
        batch_options = batches.build(gradients, generator_for(run.seed, "batches"), device)
        self.sampler = self.method.sampler(self.data, batch_options)
        self._step: Step = self._one_step
        if can_be_repeated(self.model, self.method, self.optimizer, self.processes):
            self._step = RepeatedStep(self._one_step, self.optimizer)
        self.step = 0
        self._begun: _BegunEpoch | None = None

    def train_epoch(self) -> Metrics:
        """Take one step per batch, until the epoch ends or ``trainer.stop_at_loss`` is reached.

        Returns:
            Means over the steps: ``mask/density`` (the kept share), ``epoch/risk``, and ``epoch/penalty`` if
            the method adds a penalty. On request also ``mask/density/NAME`` for every parameter.
            ``converged`` if ``trainer.stop_at_loss`` is reached.

        Raises:
            DivergedError: a risk, a penalty or a parameter is not finite.
            Interrupted: a signal asked to stop between two steps. The next call does the rest of the epoch.
        """
        self.model.train()
        begun = self._begun or _BegunEpoch(StepRecord(self.step), self.sampler.state_dict())
        self._begun = None
        seen = begun.seen
        lr = self.optimizer.param_groups[0]["lr"]
        if lr > torch.finfo(torch.float32).max:
            raise DivergedError(
                f"training diverged: the learning rate is {lr:g}, which is too large for float32. Take a "
                "smaller optimizer.lr or trainer.lr_decay. The files written so far stay as they are"
            )
        converged = False
        # A continued epoch draws the same batches again, and skips those that had their step.
        batches = self._passes() if self.schedule.several_passes else self.sampler
        for inputs, targets in islice(batches, len(seen.risks), self.schedule.steps_per_epoch):
            # Not before the first step, so that the record is not empty, and not after the last one.
            if seen.risks and self.processes.any(stop_requested() is not None):
                self._begun = begun
                raise Interrupted
            self.take_step(inputs, targets, seen)
            converged = self._has_converged(seen)
            if converged:
                break
        self.scheduler.step()
        # Checked once per epoch: a check at every step would wait for the accelerator every time.
        seen.check(self.method, self.model, lr, self.scheduler.last_epoch)
        metrics = seen.means(self.method.adds_penalty)
        return {**metrics, CONVERGED: 1} if converged else metrics

    def _passes(self) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches of one pass over the data after another, without end, all of the first one's size."""
        size = None
        while True:
            for inputs, targets in self.sampler:
                size = size or targets.shape[:2]
                if targets.shape[:2] == size:
                    yield inputs, targets

    def _has_converged(self, seen: StepRecord) -> bool:
        """Whether the training risk is as low as ``trainer.stop_at_loss`` asks for."""
        limit = self.schedule.stop_at_loss
        # The risk of the batch is known already. The whole training set is evaluated only if it is low.
        if limit is None or float(seen.risks[-1]) > 2 * limit:
            return False
        return evaluate(self.model, self._evaluated("train"), self.risk, self.processes)["loss"] <= limit

    def _evaluated(self, name: str) -> Split:
        """The examples of a split that are evaluated."""
        if name == "train":
            split = self.data.pooled().spread(self.schedule.training_examples_evaluated)
        else:
            split = self.data.evaluation[name]
        return split.spread(self.schedule.evaluation_examples)

    def take_step(self, inputs: Tensor, targets: Tensor, seen: StepRecord) -> None:
        """Take one step along the aggregated gradient of a batch ``[E, N, ...]``."""
        self.method.before_step(self.step, self.optimizer)
        seen.add(*self._step(inputs, targets))
        self.step += 1

    def _one_step(self, inputs: Tensor, targets: Tensor) -> StepNumbers:
        method, optimizer = self.method, self.optimizer
        lr = optimizer.param_groups[0]["lr"]
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
        return StepNumbers(result.risks, result.penalties, method.kept_share(result, optimizer), by_parameter)

    def evaluate(self) -> Metrics:
        """Measure risk and accuracy on every split, and the metrics of method and model.

        Raises:
            DivergedError: a number in the state of the optimizer is not finite.
        """
        check_optimizer(self.optimizer, self.step)
        metrics: Metrics = {}
        for name in ("train", *self.data.evaluation):
            for key, value in evaluate(self.model, self._evaluated(name), self.risk, self.processes).items():
                metrics[f"{name}/{key}"] = value
        metrics |= self.method.metrics(self.model, self.data, self.risk)
        reported = getattr(self.model, "reported_metrics", dict)
        return metrics | reported()

    def remarks(self, evaluations: Sequence[Metrics], selected: Metrics) -> dict[str, Any]:
        """The references of the data, the ``weights`` of the model, and the ``warning`` of the method."""
        remarks: dict[str, Any] = dict(self.data.references)
        weights = [value for key, value in selected.items() if key.startswith("weight/")]
        if weights:
            remarks["weights"] = weights
        warning = self.method.warning(evaluations[-1], self.data, self.risk)
        return remarks if warning is None else {**remarks, "warning": warning}

    def state_dict(self) -> dict[str, Any]:
        """The states of all that training changes, and the record of an unfinished epoch."""
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
        load_optimizer(self.optimizer, state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.method.load_state_dict(state["aggregator"])
        self.sampler.load_state_dict(state["sampler"])
        self.step = state["step"]
        seen = state.get("epoch_begun")  # Absent before 0.2.
        device = next(self.model.parameters()).device
        self._begun = None if seen is None else _BegunEpoch(StepRecord.of(seen, device), state["sampler"])


def _build_model(section: Section, data: Environments, method: TrainingMethod) -> nn.Module:
    model: nn.Module = section.build(data.inputs.shape[2], data.n_outputs, kinds=(nn.Module,))
    method.check_model(model, data)
    partner = getattr(model, "only_with", method.name)
    if partner != method.name:
        raise UserError(
            f"aggregator={partner} and model={section.name} need each other: choose both, or neither"
        )
    return model


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Replace the Counter in which MultiStepLR keeps its milestones: loading a Counter would run code."""
    return {key: dict(value) if key == "milestones" else value for key, value in values.items()}
