"""The compared ways to compute a masked gradient: our ways, the authors' way, and those of other libraries.

Each way takes a model and environments ``[E, N, ...]`` and sets ``.grad``. With N = 1 every example is an
environment, and the examples share one forward pass, in which BatchNorm mixes them. Opacus and TorchJD are
compared when they are installed (``pip install opacus torchjd``). Nothing else needs them.
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
from ilc.distributed import mixes_examples
from ilc.gradients import backward
from lab.experiments.cost.workloads import workload_of

MASK = AndMask(0.2)

Way = Callable[[Any, Tensor, Tensor], None]


def plain(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """Run an ordinary backward pass over all examples."""
    model.zero_grad()
    F.cross_entropy(model(inputs.flatten(0, 1)), targets.flatten(0, 1)).backward()  # type: ignore[no-untyped-call]


def ours(gradients: str, model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """Run the way of this package that ``gradients`` names."""
    backward(model, F.cross_entropy, inputs, targets, MASK, gradients)


def risks(model: nn.Module, inputs: Tensor, targets: Tensor) -> Iterator[Tensor]:
    """Yield the risk of each environment.

    If N = 1, all risks come from one forward pass. Otherwise each environment has its own forward pass.
    """
    if inputs.shape[1] == 1:
        losses = F.cross_entropy(model(inputs[:, 0]), targets[:, 0], reduction="none")
        yield from losses.reshape(len(inputs), -1).mean(1)
        return
    for x, y in zip(inputs, targets, strict=True):
        yield F.cross_entropy(model(x), y)


def trained(model: nn.Module) -> list[Any]:
    """Return the parameters that are trained; with LoRA these are few."""
    return [p for p in model.parameters() if p.requires_grad]


def loop(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """Run the authors' way: one backward pass per environment, then stack the gradients and mask them."""
    parameters = trained(model)
    rows: list[list[Tensor]] = [[] for _ in parameters]
    for risk in risks(model, inputs, targets):
        gradients = torch.autograd.grad(risk, parameters, retain_graph=inputs.shape[1] == 1)
        for row, gradient in zip(rows, gradients, strict=True):
            row.append(gradient)
    for p, row in zip(parameters, rows, strict=True):
        p.grad = MASK(torch.stack(row))


def vmap_grad(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """Run PyTorch's own vectorized gradients. They do not support BatchNorm."""
    values = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def risk(values: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(model, values, (x,)), y)

    gradients = vmap(grad(risk), in_dims=(None, 0, 0))(values, inputs, targets)
    for name in values:
        model.get_parameter(name).grad = MASK(gradients[name])


def opacus(model: Any, inputs: Tensor, targets: Tensor) -> None:
    """Run Opacus' hooks, which set ``grad_sample`` on every parameter. They need N = 1 and no BatchNorm."""
    model.zero_grad()
    F.cross_entropy(model(inputs[:, 0]), targets[:, 0]).backward()  # type: ignore[no-untyped-call]
    for p in trained(model):
        p.grad, p.grad_sample = MASK(p.grad_sample), None


def torchjd(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """Run TorchJD's Jacobian of the risks, one row at a time."""
    from torchjd.autojac import backward as jacobian_backward

    parameters = trained(model)
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
"""The ways that take a separate backward pass for each example or environment that votes."""

FEW = 32
"""With more environments than this, the ways of ``ONE_BY_ONE`` are timed for one step.

With a vote per example they always are."""


def available(name: str, n_examples: int) -> list[str]:
    """Return the ways that suit a workload and whose library is installed."""
    workload = workload_of(name)
    left_out = {*workload.without, *(way for way in ("Opacus", "TorchJD") if find_spec(way.lower()) is None)}
    if n_examples == 1:
        left_out |= {"vectorized", "sequential"}
    else:
        left_out |= {way for way in WAYS if way.startswith("per_example")} | {"Opacus"}
    if mixes_examples(workload.model()):
        left_out |= {"vmap(grad)", "Opacus"}
    return [way for way in WAYS if way not in left_out]


def hooked(way: str, model: Any) -> Any:
    """Return the model in the form that the way needs."""
    if way != "Opacus":
        return model
    warnings.filterwarnings("ignore", module="opacus")
    warnings.filterwarnings("ignore", message="Full backward hook is firing")  # Opacus' own hooks cause it.
    from opacus import GradSampleModule

    for module in model.modules():
        if isinstance(module, nn.ReLU):
            module.inplace = False  # Opacus' backward hooks do not allow it.
    return GradSampleModule(model, loss_reduction="mean")
