"""The form in which every dataset is returned: training environments and named evaluation splits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ilc.errors import UserError
from lab.data.images import PixelScale
from lab.machine.free_memory import check_memory


@dataclass(frozen=True)
class Split:
    """Examples for evaluation: inputs ``[M, ...]`` and targets ``[M, ...]``.

    ``parts`` holds masks by name, bool ``[M]``. The accuracy on the examples of each mask is reported too.
    ``scale`` turns images of bytes into the numbers that a model takes.
    """

    inputs: Tensor
    targets: Tensor
    parts: dict[str, Tensor] = field(default_factory=dict)
    scale: PixelScale | None = None

    def prepared(self, inputs: Tensor) -> Tensor:
        """Turn some of the inputs into the form that a model takes."""
        return inputs if self.scale is None else self.scale.to(inputs.device)(inputs)

    def to(self, device: torch.device) -> Split:
        """Return the same examples on another device."""
        parts = {name: part.to(device) for name, part in self.parts.items()}
        scale = None if self.scale is None else self.scale.to(device)
        return Split(self.inputs.to(device), self.targets.to(device), parts, scale)

    def spread(self, n: int | None) -> Split:
        """Return at most ``n`` of the examples, evenly spread over the split; None returns all."""
        if n is None or n >= len(self.inputs):
            return self
        rows = torch.arange(n, device=self.inputs.device) * len(self.inputs) // n
        parts = {name: part[rows] for name, part in self.parts.items()}
        return Split(self.inputs[rows], self.targets[rows], parts, self.scale)


def check_size(key: str, n_numbers: float) -> None:
    """Raise UserError if generating so many float32 numbers needs more memory than is free."""
    check_memory(f"dataset={key}", 3 * 4 * n_numbers, "take fewer environments, examples or dimensions")


@dataclass(frozen=True)
class Environments:
    """A dataset divided into E training environments of N examples each.

    Attributes:
        inputs: ``[E, N, ...]``.
        targets: ``[E, N, ...]``, class indices (int64) for classification.
        evaluation: the evaluation splits by name. One of them is always called ``test``.
        source: the origin of the data in words. It is written into every run, table and figure.
        parts: masks of the pooled training examples by name, bool ``[E * N]``; see ``Split``.
        references: constants that metrics can be compared with, such as the lowest possible risk. Every
            summary holds them.
        distributions: whether the targets are probabilities ``[E, N, C]`` rather than numbers.
        scale: the function that turns inputs of bytes into numbers, batch by batch, before a model sees them.
            None means that a model takes the inputs as they are.
        in_file: whether the tensors are files mapped into memory. Such files may be larger than the memory,
            so they stay where they are, and only batches are moved to a device.

    Raises:
        UserError: shapes do not match, an environment is empty, or values are not finite.
    """

    inputs: Tensor
    targets: Tensor
    evaluation: dict[str, Split] = field(default_factory=dict)
    source: str = ""
    parts: dict[str, Tensor] = field(default_factory=dict)
    references: dict[str, float] = field(default_factory=dict)
    distributions: bool = False
    in_file: bool = False
    scale: PixelScale | None = None

    def __post_init__(self) -> None:
        shapes = f"inputs {tuple(self.inputs.shape)}, targets {tuple(self.targets.shape)}"
        if self.inputs.ndim < 2 or self.inputs.shape[:2] != self.targets.shape[:2]:
            raise UserError(f"a dataset needs inputs and targets [E, N, ...] of equal E and N, got {shapes}")
        if 0 in self.inputs.shape[:2]:
            raise UserError(f"every dataset needs at least one environment and one example, got {shapes}")
        if "test" not in self.evaluation:
            named = ", ".join(map(repr, self.evaluation)) or "none"
            raise UserError(f"a dataset needs an evaluation split named 'test', got {named}")
        splits = {"train": self.pooled(), **self.evaluation}
        for name, split in splits.items():
            for kind, values in (("inputs", split.inputs), ("targets", split.targets)):
                if values.is_floating_point() and not bool(torch.isfinite(values).all()):
                    raise UserError(
                        f"the {name} {kind} contain NaN or infinity: repair or drop those examples first"
                    )

    @property
    def n_environments(self) -> int:
        """The number of training environments, E."""
        return self.inputs.shape[0]

    @property
    def examples_per_environment(self) -> int:
        """The number of examples in each training environment, N."""
        return self.inputs.shape[1]

    @property
    def n_outputs(self) -> int:
        """The number of outputs of a model: the number of classes, or the last axis of real targets."""
        if self.targets.is_floating_point():
            return self.targets.shape[-1]
        splits = (self.pooled(), *self.evaluation.values())
        return 1 + max(int(split.targets.max()) for split in splits)

    @property
    def targets_are(self) -> str:
        """The kind of targets that a risk must take: ``classes``, ``numbers`` or ``distributions``."""
        if not self.targets.is_floating_point():
            return "classes"
        return "distributions" if self.distributions else "numbers"

    @property
    def inputs_are(self) -> str:
        """The kind of inputs that a model must take: ``vectors``, ``images`` (channels first), ..."""
        axes = self.inputs.ndim - 2
        kind = {1: "vectors", 3: "images"}.get(axes, f"tensors of {axes} axes")
        if self.inputs.is_floating_point() or self.scale is not None:
            return kind
        return f"{kind} of {'bytes' if self.inputs.dtype == torch.uint8 else 'integers'}"

    def prepared(self, inputs: Tensor) -> Tensor:
        """Turn some of the inputs into the form that a model takes."""
        return inputs if self.scale is None else self.scale.to(inputs.device)(inputs)

    def pooled(self) -> Split:
        """Return all training examples ``[E * N, ...]``, without the division into environments."""
        return Split(self.inputs.flatten(0, 1), self.targets.flatten(0, 1), self.parts, self.scale)

    def to(self, device: torch.device) -> Environments:
        """Return the same data on another device. Data that is ``in_file`` is not moved."""
        if self.in_file:
            return self
        return replace(
            self,
            inputs=self.inputs.to(device),
            targets=self.targets.to(device),
            evaluation={name: split.to(device) for name, split in self.evaluation.items()},
            parts={name: part.to(device) for name, part in self.parts.items()},
            scale=None if self.scale is None else self.scale.to(device),
        )

    def fingerprint(self) -> str:
        """The SHA-256 of all values, which identifies the data in ``provenance.json``."""
        digest = hashlib.sha256()
        for name, split in {"train": self.pooled(), **self.evaluation}.items():
            digest.update(name.encode())
            for values in (split.inputs, split.targets):
                # The hash reads the values where they are, so that a mapped file is never copied as a whole.
                there: Any = values.detach().cpu().contiguous().numpy()
                digest.update(there)
        return digest.hexdigest()
