"""Parameters for trials: not so extreme that the gradients are nothing but rounding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def zeros_replaced(model: nn.Module) -> Iterator[None]:
    """Give small numbers to trainable parameters that are all zero, so that gradients pass through them.

    A last layer, a gate or a branch that starts from zero stops gradients, but only in the first step.
    """
    random_numbers = torch.Generator().manual_seed(0)
    with _put_back(model):
        for p in _trainable(model):
            if not bool(p.detach().any()):
                p.data = (0.3 * torch.randn(p.shape, generator=random_numbers)).to(p)
        yield


@contextmanager
def moderate_parameters(model: nn.Module) -> Iterator[None]:
    """Shrink trainable parameters to the size of an initialisation.

    A network that has fitted its examples, or whose weights have grown, may have gradients that are nothing
    but rounding. Which way is right does not depend on the size of the parameters, so smaller ones are tried.
    Matrices and kernels get a root mean square of one over the square root of the number of their inputs. All
    other parameters are clamped to [-1, 1].
    """
    with _put_back(model):
        for p in _trainable(model):
            values = p.detach()
            size = float(values.double().square().mean().sqrt()) if values.numel() else 0.0
            if values.ndim < 2 or size == 0:
                p.data = values.clamp(-1, 1)
            else:
                p.data = values * (min((values[0].numel()) ** -0.5, size) / size)
        yield


@contextmanager
def nudged_parameters(model: nn.Module, seed: int) -> Iterator[None]:
    """Change the last digits of trainable parameters, as a sum in another order would."""
    random_numbers = torch.Generator().manual_seed(seed)
    with _put_back(model):
        for p in _trainable(model):
            step = torch.randn(p.shape, generator=random_numbers).to(p)
            p.data = p.detach() * (1 + torch.finfo(p.dtype).eps * step)
        yield


def trained_layers(model: nn.Module) -> dict[nn.Module, str]:
    """The layers with trainable parameters of their own, each with its name."""
    return {
        layer: name
        for name, layer in model.named_modules()
        if any(p.requires_grad for p in layer.parameters(recurse=False))
    }


def _trainable(model: nn.Module) -> list[nn.Parameter]:
    return [p for p in model.parameters() if p.requires_grad and not p.is_complex()]


@contextmanager
def _put_back(model: nn.Module) -> Iterator[None]:
    held = [(p, p.data) for p in _trainable(model)]
    try:
        yield
    finally:
        for p, values in held:
            if p.data is not values:
                p.data = values
