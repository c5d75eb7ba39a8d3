"""Conway's Game of Life: the label is the centre cell after T steps; the boards until then are privileged.

See the thesis, section 4.4.2 and appendix C.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ilc.errors import UserError
from lab.experiments.distillation.examples import Replicas
from lab.experiments.distillation.replicas import Convolution, Linear
from lab.experiments.distillation.teaching_losses import mixed_frames

LAYERS_PER_STEP = 3
"""The number of the student's convolutions for each step of the game. According to the thesis two suffice,
and three train better."""


def next_board(boards: Tensor) -> Tensor:
    """Return the boards ``[N, H, W]`` of zeros and ones after one step; cells beyond the edge are dead."""
    ring = torch.ones(1, 1, 3, 3)
    ring[..., 1, 1] = 0
    neighbours = F.conv2d(boards[:, None], ring, padding=1)[:, 0]
    return ((neighbours == 3) | ((neighbours == 2) & (boards == 1))).float()


class GameOfLife:
    """The problem of predicting the centre cell of a random board after T steps.

    The privileged frames are the boards after each step, and the teacher mixes them. Their order is random
    but the same for all examples of a replica.

    Args:
        seed: seed of the first replica.
        n_seeds: number of replicas of every size.
        n_train: sizes of the training set.
        steps: T, the number of steps.
        size: number of cells per side, which is odd.
        alive: share of cells that are alive at the beginning.
        n_test: number of test examples.
        filters: number of maps of each layer of the student.
        weight_gain: factor on the student's initial weights.
        attention_scale: standard deviation of the teacher's initial attention.

    Raises:
        UserError: there is no seed, there are too few examples, or ``alive`` is no share.
    """

    def __init__(
        self,
        seed: int,
        n_seeds: int,
        n_train: Sequence[int],
        steps: int = 3,
        size: int = 17,
        alive: float = 0.4,
        n_test: int = 1000,
        filters: int = 16,
        weight_gain: float = 1.0,
        attention_scale: float = 0.1,
    ) -> None:
        if not 0 <= alive <= 1:
            raise UserError(f"dataset.alive is a share of the cells and must be in [0, 1], got {alive}")
        self.replicas = Replicas(seed, n_seeds, n_train)
        self.steps, self.size, self.alive = steps, size, alive
        self.filters, self.weight_gain, self.attention_scale = filters, weight_gain, attention_scale
        self.data = self.replicas.data(self._draw, n_test, "Game of Life (generated)")

    def orders(self) -> Tensor:
        """Return the number of the step that each frame of the privileged data shows, ``[R, T]``."""
        return torch.stack([self._order(generator) for generator in self.replicas.generators("data")])

    def _order(self, generator: torch.Generator) -> Tensor:
        return torch.randperm(self.steps, generator=generator)

    def _draw(self, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        order = self._order(generator)  # drawn first, so that ``orders`` draws the same order
        frames = [(torch.rand(n, self.size, self.size, generator=generator) < self.alive).float()]
        for _ in range(self.steps):
            frames.append(next_board(frames[-1]))
        centre = self.size // 2
        return frames[0], torch.stack(frames[1:], 1)[:, order], frames[-1][:, centre, centre].clone()

    def student(self) -> nn.Module:
        """Return a student from ``[R, B, H, W]`` to logits ``[R, B]`` and each layer's maps.

        The maps are ``[R, B, F, H, W]``.
        """
        generators = self.replicas.generators("student")
        return _Student(LAYERS_PER_STEP * self.steps, self.filters, self.weight_gain, generators)

    def teacher(self) -> nn.Module:
        """Return a teacher from ``[R, S, B, T, H, W]`` to S signals, with an attention that it can learn."""
        shape = (self.steps, LAYERS_PER_STEP * self.steps, self.filters)
        drawn = [torch.randn(shape, generator=g) for g in self.replicas.generators("teacher")]
        return _Teacher(self.attention_scale * torch.stack(drawn), torch.ones(shape[1]))

    def oracle_teacher(self) -> nn.Module:
        """Return a teacher that asks only every third layer, for the board after the next step."""
        layers = torch.arange(LAYERS_PER_STEP * self.steps)
        shows = self.orders()[:, :, None] == layers // LAYERS_PER_STEP
        attention = torch.where(shows, 0.0, -1e4)[..., None].repeat(1, 1, 1, self.filters)
        return _Teacher(attention, (layers % LAYERS_PER_STEP == LAYERS_PER_STEP - 1).float())

    def label_loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the binary cross-entropy."""
        return F.binary_cross_entropy_with_logits(outputs, targets, reduction="none")

    def teaching_loss(self, hidden: Sequence[Tensor], signal: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Return the squared error between maps and mixtures of frames."""
        return mixed_frames(hidden, *signal)

    def found(self, teacher: nn.Module) -> dict[str, Tensor]:
        """Return the attention of layer K to the board after step T, averaged over filters, ``[R]`` each.

        The names are ``layerK/stepT``.
        """
        assert isinstance(teacher, _Teacher)
        attention = teacher.attention.detach().softmax(1).mean(3).cpu()  # [R, T, K]
        frame = self.orders().argsort(1)  # the frame that shows the board after each step
        by_step = attention.gather(1, frame[..., None].expand_as(attention))
        return {
            f"layer{layer + 1}/step{step + 1}": by_step[:, step, layer]
            for layer in range(by_step.shape[2])
            for step in range(by_step.shape[1])
        }

    def measures(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Return the accuracy and the loss."""
        right = (outputs > 0) == (targets > 0.5)
        return {"accuracy": right.float(), "loss": self.label_loss(outputs, targets)}


class _Student(nn.Module):
    def __init__(self, layers: int, filters: int, gain: float, generators: list[torch.Generator]) -> None:
        super().__init__()
        widths = [1, *[filters] * layers]
        self.layers = nn.ModuleList(Convolution(i, o, generators, gain=gain) for i, o in pairwise(widths))
        self.readout = Linear(filters, 1, generators)
        self.n = len(generators)

    def forward(self, inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        maps, hidden = inputs.transpose(0, 1), []
        for layer in self.layers:
            maps = layer(maps).relu()
            hidden.append(maps.unflatten(1, (self.n, -1)).transpose(0, 1))
        centre = hidden[-1][..., maps.shape[-2] // 2, maps.shape[-1] // 2]
        return self.readout(centre).squeeze(-1), hidden


class _Teacher(nn.Module):
    asks: Tensor

    def __init__(self, attention: Tensor, asks: Tensor) -> None:
        super().__init__()
        self.attention = nn.Parameter(attention)
        self.register_buffer("asks", asks)

    def forward(self, privileged: Tensor) -> list[tuple[Tensor, Tensor, Tensor]]:
        return [(self.attention, self.asks, frames) for frames in privileged.unbind(1)]
