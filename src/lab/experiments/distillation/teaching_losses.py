"""Teaching losses between a student's activations and the teacher's signal, per example ``[R, B]``."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


def squared_error(hidden: Tensor, asked: Tensor) -> Tensor:
    """Return the mean squared error over units, ``[R, B]``, of two tensors ``[R, B, K]`` (task A)."""
    return (hidden - asked).square().mean(-1)


def gated_squared_error(hidden: Sequence[Tensor], asked: Sequence[Tensor]) -> Tensor:
    """Return the squared error with each unit weighted by the teacher's gate.

    See the thesis, section 4.4.3 and appendix C.2.2.2. Deviation: there are no constants that scale and shift
    the gates, because the two constants are illegible in the thesis. The mean over units is taken and not the
    sum, because with the sum training diverges at once.

    Args:
        hidden: pre-activations ``[R, B, K]`` of each layer.
        asked: for each layer ``[R, B, 2, K]``: targets, and gates before the sigmoid.
    """
    total, units = hidden[0].new_zeros(hidden[0].shape[:2]), 0
    for values, signal in zip(hidden, asked, strict=True):
        target, gate = signal.unbind(-2)
        total = total + (gate.sigmoid() * (values - target).square()).sum(-1)
        units += values.shape[-1]
    return total / units


def kl_on_outputs(logits: Tensor, asked: Tensor) -> Tensor:
    """Return the KL divergence of the student's classes from the teacher's, from logits (task B).

    Both logits are ``[R, B, K]``; the divergence is ``[R, B]``.
    """
    wanted = asked.log_softmax(-1)
    return (wanted.exp() * (wanted - logits.log_softmax(-1))).sum(-1)


def mixed_frames(hidden: Sequence[Tensor], attention: Tensor, asks: Tensor, frames: Tensor) -> Tensor:
    """Return the mean squared error between maps and mixtures of frames (thesis, equations 4.2 and 4.3).

    Args:
        hidden: maps ``[R, B, F, H, W]`` of each of K layers.
        attention: ``[R, T, K, F]`` before the softmax over time.
        asks: ``[K]``, 1 for layers of which the teacher asks something and 0 for the others.
        frames: ``[R, B, T, H, W]``.
    """
    mixture = attention.softmax(1).permute(0, 2, 3, 1)  # [R, K, F, T]
    total = hidden[0].new_zeros(hidden[0].shape[:2])
    for layer, maps in enumerate(hidden):
        if asks[layer]:
            wanted = mixture[:, layer, None] @ frames.flatten(3)
            total = total + (maps.flatten(3) - wanted).square().mean((-1, -2))
    return total / asks.sum()
