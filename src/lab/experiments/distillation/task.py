"""The task of a student that learns with a teacher, while the teacher learns through the student's steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ilc.errors import UserError
from lab.configuration.section import Section
from lab.experiments.distillation.examples import Examples
from lab.experiments.distillation.functional_optimizers import Tensors
from lab.experiments.distillation.methods import METHODS, Method
from lab.experiments.distillation.options import OptimizerOptions, TeachingOptions
from lab.experiments.distillation.problem import Problem
from lab.experiments.distillation.split import Split
from lab.experiments.distillation.unroll import train, unroll
from lab.runs.one_run.diverged import DivergedError
from lab.runs.one_run.run_options import RunOptions
from lab.runs.one_run.task import Metrics

CLIP = 1e8
"""The bound to which each component of the meta-gradient is clipped (thesis, appendix C.2.2.2)."""


class DistillationTask:
    """A ``Task`` whose epoch is one meta-step of the teacher and ``student_steps`` steps of the student.

    There is no meta-step if the method has no teacher that learns. Such baselines train on the whole training
    set. The other methods train on its training part only.

    Args:
        run: options that every run has.
        device: device to train on.
        dataset: section that makes the problem.
        method: a name of ``METHODS``.
        n_seeds: number of replicas of every training set size, which all train in one program.
        batch_size: batch size of the student.
        student_steps: number of the student's steps per epoch.
        student: optimizer of the student.
        inner: optimizer of the unrolled steps.
        teacher: optimizer of the teacher.
        teaching: options that say how the teacher teaches.
        fixed_teacher: ``random`` or ``oracle``, for the method ``fixed_teacher``.
        entropy_weight: weight of the method ``entropy_bonus``.
        auxiliary_weight: weight of the method ``auxiliary``.

    Raises:
        UserError: the method is unknown or does not fit the problem, or options are out of range or do not
            fit together.
    """

    def __init__(
        self,
        run: RunOptions,
        device: torch.device,
        dataset: Section,
        method: str,
        batch_size: int,
        student_steps: int,
        student: OptimizerOptions,
        inner: OptimizerOptions,
        teacher: OptimizerOptions,
        teaching: TeachingOptions,
        n_seeds: int = 1,
        fixed_teacher: str = "random",
        entropy_weight: float = 0.0,
        auxiliary_weight: float = 1.0,
    ) -> None:
        if method not in METHODS:
            raise UserError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        if not (1 <= batch_size < 2**31 and 1 <= student_steps < 2**31):
            raise UserError(
                "batch_size and student_steps must be at least 1 and below 2^31, got "
                f"{batch_size} and {student_steps}"
            )
        if teaching.carried and inner != student:
            raise UserError(
                "inner and student must be equal optimizers with teaching.carried=true, because the state "
                "of one is passed to the other: give both the same values, or set teaching.carried=false"
            )
        self.problem: Problem = dataset.build(seed=run.seed, data_dir=run.data_dir, n_seeds=n_seeds)
        self.data = self.problem.data
        self.device, self.teaching, self.student_steps = device, teaching, student_steps
        self.method: Method = METHODS[method](
            self.problem,
            teaching_weight=teaching.weight,
            fixed_teacher=fixed_teacher,
            entropy_weight=entropy_weight,
            auxiliary_weight=auxiliary_weight,
        )
        self.training, self.test = self.data.training.to(device), self.data.test.to(device)
        self.split = Split(
            self.data.sizes, teaching.validation_share if self.method.learns_to_teach else 0.0, batch_size
        )
        self.model = self.method.student.to(device)
        self.optimizer, self.inner = student.functional(), inner.functional()
        self.weights: Tensors = {n: p.detach().clone() for n, p in self.model.named_parameters()}
        self.state = self.optimizer.start(self.weights)
        self.teacher: nn.Module | None = None
        if self.method.teacher is not None:
            self.teacher = self.method.teacher.to(device)
            self.meta_optimizer = teacher.in_place(self.teacher.parameters())
        self.step = 0

    def train_epoch(self) -> Metrics:
        """Take one meta-step, if the teacher learns, and then the student's steps.

        Raises:
            DivergedError: the meta-gradient or the student's weights are no longer finite.
        """
        learns = self.method.learns_to_teach
        rows = self.split.batches(max(self.student_steps, self.teaching.n_inner if learns else 0))
        rows = rows.to(self.device)
        metrics = self._meta_step(rows[: self.teaching.n_inner]) if learns else {}
        batches = [self.training.at(chosen) for chosen in rows[: self.student_steps]]
        with torch.no_grad():
            signals = self._signals(batches)
        self.weights, self.state = train(
            self._loss, self.weights, self.optimizer, self.state, list(zip(batches, signals, strict=True))
        )
        if not all(bool(value.isfinite().all()) for value in self.weights.values()):
            raise DivergedError(
                f"the student's weights are not finite after step {self.step + self.student_steps}: choose a "
                "smaller student.lr"
            )
        self.step += self.student_steps
        if learns and self.teaching.split == "redrawn":
            self.split.redraw()
        return metrics

    def _meta_step(self, rows: Tensor) -> Metrics:
        """Move the teacher against the gradient of the student's validation loss after unrolled steps."""
        assert self.teacher is not None
        self.meta_optimizer.zero_grad()
        batches = [self.training.at(chosen) for chosen in rows]
        state = self.state if self.teaching.carried else self.inner.start(self.weights)
        steps = list(zip(batches, self._signals(batches), strict=True))
        after, _ = unroll(self._loss, self.weights, self.inner, state, steps)
        chosen, real = (part.to(self.device) for part in self.split.validation())
        examples = self.training.at(chosen)
        outputs, _ = functional_call(self.model, after, (examples.inputs,))
        losses = self.problem.label_loss(outputs, examples.targets)
        loss = (losses * real).sum(1) / real.sum(1)
        loss.sum().backward()  # type: ignore[no-untyped-call]
        gradients = [p.grad for p in self.teacher.parameters() if p.grad is not None]
        norm = float(torch.stack([gradient.square().sum() for gradient in gradients]).sum().sqrt())
        if not math.isfinite(norm):
            raise DivergedError(
                f"the meta-gradient is not finite at meta-step {self.step // self.student_steps + 1}: "
                "choose a smaller inner.lr, teaching.weight or teaching.n_inner"
            )
        nn.utils.clip_grad_value_(self.teacher.parameters(), CLIP)
        self.meta_optimizer.step()
        return {"meta/loss": float(loss.detach().mean()), "meta/gradient_norm": norm}

    def _signals(self, batches: Sequence[Examples]) -> Sequence[Any]:
        """Return the teacher's signals for all batches, from one call: the teacher does not change here."""
        if self.teacher is None:
            return [None] * len(batches)
        signals: Sequence[Any] = self.teacher(torch.stack([batch.privileged for batch in batches], 1))
        return signals

    def _loss(self, weights: Tensors, batch: tuple[Examples, Any]) -> Tensor:
        """Return the mean loss over examples, summed over replicas, which do not affect each other."""
        examples, signal = batch
        outputs, hidden = functional_call(self.model, weights, (examples.inputs,))
        return self.method.loss(outputs, hidden, examples, signal).mean(1).sum()

    @torch.no_grad()
    def evaluate(self) -> Metrics:
        """Return the measures on training and test set: means over replicas, and those of each replica."""
        metrics: Metrics = {}
        sizes = self.data.sizes.to(self.device)
        for split, examples in (("train", self.training), ("test", self.test)):
            outputs, _ = functional_call(self.model, self.weights, (examples.inputs,))
            n = examples.inputs.shape[1]
            real = torch.arange(n, device=self.device) < (sizes[:, None] if split == "train" else n)
            for name, values in self.problem.measures(outputs, examples.targets).items():
                per_replica = (values * real).sum(1) / real.expand_as(values).sum(1)
                metrics[f"{split}/{name}"] = float(per_replica.mean())
                for replica, value in zip(self.data.names, per_replica.tolist(), strict=True):
                    metrics[f"{replica}/{split}/{name}"] = value
        return metrics

    def remarks(self, evaluations: Sequence[Metrics], selected: Metrics) -> dict[str, Any]:
        """Return the best test values over training, and what the teacher found.

        ``best/REPLICA/test/...`` are the best values, which the thesis reports. ``found/...`` is there if the
        teacher learns and the problem has a function ``found``.
        """
        remarks = {}
        for key in selected:
            if "/test/" in key:
                values = [metrics[key] for metrics in evaluations]
                remarks[f"best/{key}"] = max(values) if key.endswith("/accuracy") else min(values)
        if self.method.learns_to_teach and hasattr(self.problem, "found"):
            for name, values in self.problem.found(self.teacher).items():
                for replica, value in zip(self.data.names, values.tolist(), strict=True):
                    remarks[f"found/{replica}/{name}"] = value
        return remarks

    def state_dict(self) -> dict[str, Any]:
        """Return the state of student, teacher, their optimizers, the split and the step."""
        state: dict[str, Any] = {
            "model": self.weights,
            "student_optimizer": self.state,
            "split": self.split.order,
            "step": self.step,
        }
        if self.teacher is not None:
            state |= {
                "teacher": self.teacher.state_dict(),
                "meta_optimizer": self.meta_optimizer.state_dict(),
            }
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state that ``state_dict`` returned."""
        self.weights, self.state = state["model"], state["student_optimizer"]
        self.model.load_state_dict(self.weights)
        self.split.order, self.step = state["split"], state["step"]
        if self.teacher is not None:
            self.teacher.load_state_dict(state["teacher"])
            self.meta_optimizer.load_state_dict(state["meta_optimizer"])
