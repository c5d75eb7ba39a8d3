"""The return of 16 random actions in MuJoCo; states and rewards on the way are privileged (thesis, 4.4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ilc.errors import UserError
from lab.experiments.distillation.examples import Examples, ProblemData, Replicas
from lab.experiments.distillation.mujoco_rollouts import STEPS, rollouts
from lab.experiments.distillation.mujoco_teacher import TrajectoryTeacher
from lab.experiments.distillation.replicas import Linear
from lab.experiments.distillation.teaching_losses import gated_squared_error
from lab.machine.seeding import generator_for

BINS = 32


class MujocoReturns:
    """The problem of predicting the return of a state and 16 actions, as one of 32 equally full bins.

    Inputs are ``[R, N, D + 16 A]`` and standardised. Privileged data are ``[R, N, 16, D + 1]``, the states
    and rewards on the way. Targets are bins, ``[R, N]``. All seeds share the data.

    Args:
        seed: seed of the first replica.
        n_seeds: number of replicas of every size.
        data_dir: folder in which the play is kept, below ``mujoco/``.
        n_train: sizes of the training set.
        environment: name of an environment of gymnasium, version 4.
        n_test: number of test examples.
        collection_seed: seed of the play.
        student_layers: number of the student's hidden layers.
        student_units: number of units of each hidden layer.
        teacher_channels: channels of the teacher's convolutions.
        teacher_units: number of units of the layer after the convolutions.
        shuffled_time: whether each example's frames come in their own random order (ablation PT).
        noise_frames: number of last frames that noise replaces (ablation RT-n).

    Raises:
        UserError: the environment is unknown, MuJoCo is not installed, or a number is out of range.
    """

    def __init__(
        self,
        seed: int,
        n_seeds: int,
        data_dir: str,
        n_train: Sequence[int],
        environment: str = "Hopper-v4",
        n_test: int = 10_000,
        collection_seed: int = 0,
        student_layers: int = 5,
        student_units: int = 128,
        teacher_channels: Sequence[int] = (96, 96, 96, 256),
        teacher_units: int = 768,
        shuffled_time: bool = False,
        noise_frames: int = 0,
    ) -> None:
        if not 0 <= noise_frames <= STEPS or n_test < 1:
            raise UserError(
                f"dataset.noise_frames must be in [0, {STEPS}] and dataset.n_test at least 1, "
                f"got {noise_frames} and {n_test}"
            )
        if min(student_layers, student_units, teacher_units, *teacher_channels) < 1 or not teacher_channels:
            raise UserError(
                "dataset.student_layers, student_units, teacher_units and each of teacher_channels must be "
                "at least 1, and there must be one number of channels or more, got "
                f"{student_layers}, {student_units}, {teacher_units} and {list(teacher_channels)}"
            )
        self.replicas = Replicas(seed, n_seeds, n_train)
        self.student_layers, self.student_units = student_layers, student_units
        self.teacher_channels, self.teacher_units = list(teacher_channels), teacher_units
        longest = max(n_train)
        arrays, _ = rollouts(Path(data_dir) / "mujoco", environment, longest + n_test, collection_seed)
        play = {part: torch.from_numpy(np.array(values)) for part, values in arrays.items()}
        inputs, frames = _standardised(play, longest)
        self.n_inputs, self.n_frame = inputs.shape[1], frames.shape[-1]
        frames = _ablated(frames, shuffled_time, noise_frames, generator_for(seed, "ablation"))
        bins = return_bins(play["rewards"].sum(1), longest)
        n = len(self.replicas.seeds)
        shared = Examples(*(part.expand(n, *part.shape) for part in (inputs, frames, bins)))
        self.data = ProblemData(
            shared.between(0, longest),
            shared.between(longest, longest + n_test),
            self.replicas.sizes,
            self.replicas.names,
            f"MuJoCo {environment}, random play",
        )

    def student(self) -> nn.Module:
        """Return a student from ``[R, B, D]`` to logits ``[R, B, 32]`` and pre-activations ``[R, B, K]``."""
        widths = [self.n_inputs, *[self.student_units] * self.student_layers, BINS]
        return _Student(widths, self.replicas.generators("student"))

    def teacher(self) -> nn.Module:
        """Return a teacher from ``[R, S, B, 16, D + 1]`` to S signals: a target and a gate for every unit."""
        widths = [self.student_units] * self.student_layers
        return TrajectoryTeacher(
            self.n_frame,
            STEPS,
            self.teacher_channels,
            self.teacher_units,
            widths,
            self.replicas.generators("teacher"),
        )

    def auxiliary_head(self) -> nn.Module:
        """Return a head from the last hidden layer to the frames, ``[R, B, 16 (D + 1)]``."""
        generators = self.replicas.generators("auxiliary head")
        return _LastLayerHead(self.student_units, STEPS * self.n_frame, generators)

    def label_loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy with the bin."""
        return -outputs.log_softmax(-1).gather(-1, targets[..., None]).squeeze(-1)

    def teaching_loss(self, hidden: Sequence[Tensor], signal: Sequence[Tensor]) -> Tensor:
        """Return the gated squared error on the pre-activations."""
        return gated_squared_error(hidden, signal)

    def measures(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Return ``loss`` and ``mse``, the squared error of the expected bin, as a share of the range."""
        middles = (torch.arange(BINS, device=outputs.device) + 0.5) / BINS
        expected = (outputs.softmax(-1) * middles).sum(-1)
        return {
            "mse": (expected - middles[targets]).square(),
            "loss": self.label_loss(outputs, targets),
        }


def return_bins(returns: Tensor, n_train: int) -> Tensor:
    """Return each return's bin, ``[N]``: training returns fill the bins equally, others are interpolated."""
    known = np.sort(returns[:n_train].double().numpy())
    ranks = np.interp(returns.double().numpy(), known, np.linspace(0, 1, n_train))
    return torch.from_numpy(np.minimum(ranks * BINS, BINS - 1).astype(np.int64))


def _standardised(play: dict[str, Tensor], n_train: int) -> tuple[Tensor, Tensor]:
    """Return inputs ``[N, D + 16 A]`` and frames ``[N, 16, D + 1]``, standardised by training examples."""

    def moments(values: Tensor) -> tuple[Tensor, Tensor]:
        return values.mean(0), values.std(0).clamp(min=1e-6)

    # The states on the way are standardised by the moments of the examples' first states, as in the thesis.
    mean, spread = moments(play["states"][:n_train])
    actions = play["actions"].flatten(1)
    action_mean, action_spread = moments(actions[:n_train])
    reward_mean, reward_spread = moments(play["rewards"][:n_train].flatten())
    inputs = torch.cat([(play["states"] - mean) / spread, (actions - action_mean) / action_spread], 1)
    rewards = ((play["rewards"] - reward_mean) / reward_spread)[..., None]
    return inputs, torch.cat([(play["next_states"] - mean) / spread, rewards], -1)


def _ablated(frames: Tensor, shuffled: bool, noise: int, generator: torch.Generator) -> Tensor:
    if shuffled:
        order = torch.rand(frames.shape[:2], generator=generator).argsort(1)
        frames = frames.gather(1, order[..., None].expand_as(frames))
    if noise:
        frames = frames.clone()
        frames[:, -noise:] = torch.randn(frames[:, -noise:].shape, generator=generator)
    return frames


class _Student(nn.Module):
    def __init__(self, widths: list[int], generators: list[torch.Generator]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Linear(i, o, generators, weight_norm=True) for i, o in pairwise(widths))

    def forward(self, inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        hidden = [self.layers[0](inputs)]
        for layer in self.layers[1:]:
            hidden.append(layer(hidden[-1].relu()))
        return hidden[-1], hidden[:-1]


class _LastLayerHead(Linear):
    def forward(self, inputs: Sequence[Tensor]) -> Tensor:  # type: ignore[override]
        return super().forward(inputs[-1].relu())
