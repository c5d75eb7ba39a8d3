"""Time and memory of one AND-mask step with a vote per example, against plain training and others.

FastResNet of width 64, 80 images of 32 x 32, on the CPU, or on the GPU where there is one. All ways
in one run: fast ones step in turn, slow ones once in a process of their own. Opacus and TorchJD take
part when they are installed (``pip install opacus torchjd``); nothing else needs them. Memory: a fresh
process per row.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from ilc.aggregators import AndMask
from ilc.experiments.cost.step_cost import median_milliseconds, peak_in_own_process, print_peak
from ilc.experiments.measurement import Parts, Tables
from ilc.gradients import backward
from ilc.models import FastResNet

MASK = AndMask(0.2, rescale=True)
BATCH_SIZE = 80
SLOW_STEPS = 1


def plain(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """An ordinary backward pass."""
    model.zero_grad()
    F.cross_entropy(model(inputs), targets).backward()  # type: ignore[no-untyped-call]


def example_share(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """Ours: every example's share of the batch gradient."""
    backward(model, F.cross_entropy, inputs.unsqueeze(1), targets.unsqueeze(1), MASK, "per_example_share")


def example_loss(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """Ours: the gradient of every example's own risk."""
    backward(model, F.cross_entropy, inputs.unsqueeze(1), targets.unsqueeze(1), MASK, "per_example_loss")


def loop(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """What the authors do: one backward pass per example through a shared graph; stack, mask."""
    parameters = list(model.parameters())
    losses = F.cross_entropy(model(inputs), targets, reduction="none")
    rows: list[list[Tensor]] = [[] for _ in parameters]
    for loss in losses:
        for row, gradient in zip(rows, torch.autograd.grad(loss, parameters, retain_graph=True), strict=True):
            row.append(gradient)
    for p, row in zip(parameters, rows, strict=True):
        p.grad = MASK(torch.stack(row))


def vmap_grad(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """PyTorch's own per-sample gradients; no BatchNorm."""
    values = {name: p.detach() for name, p in model.named_parameters()}

    def risk(values: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(model, values, (x.unsqueeze(0),)), y.unsqueeze(0))

    gradients = vmap(grad(risk), in_dims=(None, 0, 0))(values, inputs, targets)
    for name, p in model.named_parameters():
        p.grad = MASK(gradients[name])


def opacus(model: Any, inputs: Tensor, targets: Tensor) -> None:
    """Opacus' hooks, which leave ``grad_sample`` on every parameter; no BatchNorm."""
    model.zero_grad()
    F.cross_entropy(model(inputs), targets).backward()  # type: ignore[no-untyped-call]
    for p in model.parameters():
        p.grad, p.grad_sample = MASK(p.grad_sample), None


def torchjd(model: nn.Module, inputs: Tensor, targets: Tensor, chunk: int = 1) -> None:
    """TorchJD's Jacobian of the example losses, one row at a time."""
    from torchjd.autojac import backward as jacobian_backward

    parameters: list[Any] = list(model.parameters())
    losses = F.cross_entropy(model(inputs), targets, reduction="none")
    jacobian_backward(losses, inputs=parameters, parallel_chunk_size=chunk)
    for p in parameters:
        p.grad = MASK(p.jac)
        del p.jac


WAYS: dict[str, tuple[str, Callable[..., None], bool]] = {
    "plain training": ("both", plain, False),
    "example_share": ("both", example_share, False),
    "example_loss": ("batch", example_loss, True),
    "authors' loop": ("batch", loop, True),
    "vmap(grad)": ("group", vmap_grad, False),
    "Opacus": ("group", opacus, False),
    "TorchJD": ("batch", torchjd, True),
}
"""For which norms, what, and whether one backward pass per example makes it slow: those, which cost the
same with either norm, are timed for one step of one norm."""


def available(norm: str) -> dict[str, Callable[..., None]]:
    """The ways for a norm, without those whose library is not installed."""
    missing = {name for name in ("Opacus", "TorchJD") if find_spec(name.lower()) is None}
    chosen = {name: way for name, (norms, way, _) in WAYS.items() if norms in (norm, "both")}
    return {name: way for name, way in chosen.items() if name not in missing}


def prepared(name: str, norm: str, batch_size: int, width: int) -> Callable[[], None]:
    """One step of a way on a model and a batch of its own."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model: Any = FastResNet(3, 10, width, norm).to(device)
    if name == "Opacus":
        warnings.filterwarnings("ignore", module="opacus")
        from opacus import GradSampleModule

        for module in model.modules():
            if isinstance(module, nn.ReLU):
                module.inplace = False  # Opacus' backward hooks refuse it.
        model = GradSampleModule(model, loss_reduction="sum")
    inputs = torch.randn(batch_size, 3, 32, 32, device=device)
    targets = torch.randint(0, 10, (batch_size,), device=device)
    return partial(WAYS[name][1], model, inputs, targets)


def parts(steps: int = 15, width: int = 64, threads: int = 2) -> Parts:
    """``benchmark/per_example.csv``: a part per norm; with the slow ways half an hour on an idle machine.

    Args:
        steps: timed steps per fast way.
        width: of FastResNet.
        threads: CPU threads.
    """
    return {norm: partial(_measure, norm, steps, width, threads) for norm in ("batch", "group")}


def _measure(norm: str, steps: int, width: int, threads: int) -> Tables:
    """A row per way: milliseconds, ratios, peak MB beyond model and batch."""
    torch.set_num_threads(threads)
    names = available(norm)
    fast = {name: prepared(name, norm, BATCH_SIZE, width) for name in names if not WAYS[name][2]}
    times = median_milliseconds(fast, steps)
    rows = []
    for name in names:
        process, beyond, milliseconds = peak_in_own_process(print_peak_of, name, norm, width, threads)
        times.setdefault(name, milliseconds)
        rows.append(
            {
                "norm": norm,
                "way": name,
                "milliseconds": round(times[name], 1),
                "times_plain": round(times[name] / times["plain training"], 2),
                "step_peak_mb": round(beyond),
                "process_peak_mb": round(process),
                "device": "cuda" if torch.cuda.is_available() else "cpu",
                "threads": threads,
                "width": width,
                "steps": SLOW_STEPS if WAYS[name][2] else steps,
            }
        )
    return {"benchmark/per_example.csv": pd.DataFrame(rows)}


def print_peak_of(name: str, norm: str, width: int, threads: int) -> None:
    """Print the peak of this process, the step's beyond what was held before, and its milliseconds."""
    torch.set_num_threads(threads)
    step, small = (prepared(name, norm, n, width) for n in (BATCH_SIZE, 2))
    print_peak(step, small, steps=SLOW_STEPS if WAYS[name][2] else 3)
