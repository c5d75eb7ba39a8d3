"""What is compared: ways to a masked gradient, ours, the authors', and other libraries'.

Each takes a model and environments ``[E, N, ...]`` and leaves ``.grad``. With N = 1 every example is an
environment, and the examples share one forward pass, in which BatchNorm mixes them. Opacus and TorchJD take
part when they are installed (``pip install opacus torchjd``); nothing else needs them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from ilc.aggregators import AndMask
from ilc.gradients import backward
from ilc.gradients._example_terms.batch_norm import mixes_examples
from lab.experiments.cost.workloads import WORKLOADS

MASK = AndMask(0.2)

Way = Callable[[Any, Tensor, Tensor], None]


def plain(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """An ordinary backward pass over all examples."""
    model.zero_grad()
    F.cross_entropy(model(inputs.flatten(0, 1)), targets.flatten()).backward()  # type: ignore[no-untyped-call]


def ours(gradients: str, model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """A way of this package."""
    backward(model, F.cross_entropy, inputs, targets, MASK, gradients)


def risks(model: nn.Module, inputs: Tensor, targets: Tensor) -> Iterator[Tensor]:
    """The risk of each environment: of examples from one forward pass, else from one each."""
    if inputs.shape[1] == 1:
        yield from F.cross_entropy(model(inputs[:, 0]), targets[:, 0], reduction="none")
        return
    for x, y in zip(inputs, targets, strict=True):
        yield F.cross_entropy(model(x), y)


def loop(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """What the authors do: one backward pass per environment; stack, mask."""
    parameters = list(model.parameters())
    rows: list[list[Tensor]] = [[] for _ in parameters]
    for risk in risks(model, inputs, targets):
        gradients = torch.autograd.grad(risk, parameters, retain_graph=inputs.shape[1] == 1)
        for row, gradient in zip(rows, gradients, strict=True):
            row.append(gradient)
    for p, row in zip(parameters, rows, strict=True):
        p.grad = MASK(torch.stack(row))


def vmap_grad(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """PyTorch's own vectorized gradients; no BatchNorm."""
    values = {name: p.detach() for name, p in model.named_parameters()}

    def risk(values: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(model, values, (x,)), y)

    gradients = vmap(grad(risk), in_dims=(None, 0, 0))(values, inputs, targets)
    for name, p in model.named_parameters():
        p.grad = MASK(gradients[name])


def opacus(model: Any, inputs: Tensor, targets: Tensor) -> None:
    """Opacus' hooks, which leave ``grad_sample`` on every parameter; no BatchNorm, N = 1."""
    model.zero_grad()
    F.cross_entropy(model(inputs[:, 0]), targets[:, 0]).backward()  # type: ignore[no-untyped-call]
    for p in model.parameters():
        p.grad, p.grad_sample = MASK(p.grad_sample), None


def torchjd(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """TorchJD's Jacobian of the risks, one row at a time."""
    from torchjd.autojac import backward as jacobian_backward

    parameters: list[Any] = list(model.parameters())
    jacobian_backward(
        torch.stack(list(risks(model, inputs, targets))), inputs=parameters, parallel_chunk_size=1
    )
    for p in parameters:
        p.grad = MASK(p.jac)
        del p.jac


PLAIN = "plain training"

WAYS: dict[str, Way] = {
    PLAIN: plain,
    **{name: partial(ours, name) for name in ("vectorized", "sequential")},
    **{name: partial(ours, name) for name in ("per_example", "per_example_share", "per_example_loss")},
    "authors' loop": loop,
    "TorchJD": torchjd,
    "vmap(grad)": vmap_grad,
    "Opacus": opacus,
}

ONE_BY_ONE = {"per_example_loss", "authors' loop", "TorchJD"}
"""With a vote per example or environment they take a backward pass for each."""

FEW = 32
"""Environments beyond which those are timed for one step."""


def available(name: str, n_examples: int) -> list[str]:
    """The ways for a workload, without those whose library is not installed."""
    workload = WORKLOADS[name]
    left_out = {*workload.without, *(way for way in ("Opacus", "TorchJD") if find_spec(way.lower()) is None)}
    if n_examples == 1:
        left_out |= {"vectorized", "sequential"}
    else:
        left_out |= {way for way in WAYS if way.startswith("per_example")} | {"Opacus"}
    if any(mixes_examples(layer) for layer in workload.model().modules()):
        left_out |= {"vmap(grad)", "Opacus"}
    return [way for way in WAYS if way not in left_out]


def hooked(way: str, model: Any) -> Any:
    """The model as the way wants it."""
    if way != "Opacus":
        return model
    warnings.filterwarnings("ignore", module="opacus")
    warnings.filterwarnings("ignore", message="Full backward hook is firing")  # Its own hooks do.
    from opacus import GradSampleModule

    for module in model.modules():
        if isinstance(module, nn.ReLU):
            module.inplace = False  # Opacus' backward hooks refuse it.
    return GradSampleModule(model, loss_reduction="mean")
