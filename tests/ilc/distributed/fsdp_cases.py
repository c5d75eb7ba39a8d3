"""What the processes of a test do with models that FSDP2 has divided."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F

import ilc
from ilc import distributed
from ilc.aggregators import (
    Aggregator,
    AgreementRandom,
    AgreementSum,
    AndMask,
    GeometricMean,
    GradDrop,
    Mean,
    SandMask,
    SignElection,
    XorMask,
)
from ilc.distributed import current

STEPS = 4


class Tied(nn.Module):
    """Words, a hidden layer, and the words again; two parameters that no loss reaches."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(7, 5)
        self.hidden = nn.Linear(5, 5)
        self.out = nn.Linear(5, 7, bias=False)
        self.unused = nn.Linear(2, 3)
        self.shift = nn.Parameter(torch.zeros(1, 7))  # Nothing of it is in the second process.
        self.out.weight = self.words.weight

    def forward(self, inputs: Tensor) -> Tensor:
        scores: Tensor = self.out(self.hidden(self.words((inputs * 3).long().clamp(0, 6))).relu().sum(1))
        scores = scores + self.shift
        return scores[:, :3].clone()  # FSDP2 warns of views.


class Branches(nn.Module):
    """Two ways, of which every environment takes one."""

    def __init__(self) -> None:
        super().__init__()
        self.ways = nn.ModuleList([nn.Linear(5, 3), nn.Linear(5, 3)])

    def forward(self, inputs: Tensor) -> Tensor:
        scores: Tensor = self.ways[int(inputs[0, 1] > 0)](inputs)
        return scores


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 16), nn.LeakyReLU(), nn.Linear(16, 3))


def batch_norm() -> nn.Module:
    # Without the bias that BatchNorm takes away again: its gradient is rounding, and so are its votes.
    return nn.Sequential(nn.Linear(5, 16, bias=False), nn.BatchNorm1d(16), nn.LeakyReLU(), nn.Linear(16, 3))


def divided(model: nn.Module) -> nn.Module:
    """Each layer with parameters by itself, and the rest; other models in one piece."""
    for layer in model.children() if isinstance(model, nn.Sequential) else ():
        if any(True for _ in layer.parameters()):
            fully_shard(layer)
    if isinstance(model, Tied):
        fully_shard(model.unused)
    return fully_shard(model)


@dataclass(frozen=True)
class Case:
    aggregator: Aggregator
    model: Callable[[], nn.Module] = perceptron
    given: str = "batch"
    """``batch``, ``losses``, ``accumulated`` or ``loop``: what the processes give."""
    n_environments: int = 7


CASES = {
    "and_mask": Case(AndMask(0.4)),
    "and_mask_rescaled": Case(AndMask(0.4, rescale=True)),
    "and_mask_batch_norm": Case(AndMask(0.4), batch_norm),
    "and_mask_tied": Case(AndMask(0.4), Tied),
    "and_mask_of_losses": Case(AndMask(0.4), given="losses"),
    "and_mask_tied_accumulated": Case(AndMask(0.4), Tied, "accumulated", 12),
    "and_mask_accumulated": Case(AndMask(0.4), batch_norm, "accumulated", 12),
    "geometric_mean": Case(GeometricMean(0.4)),
    "geometric_mean_tied": Case(GeometricMean(0.4), Tied),
    "xor_mask": Case(XorMask(0.4)),
    "mean": Case(Mean()),
    "sand_mask": Case(SandMask(0.3)),
    "sign_election": Case(SignElection()),
    "and_mask_branches": Case(AndMask(0.4), Branches),
    "sign_election_tied": Case(SignElection(), Tied),
    "agreement_sum_mask": Case(AgreementSum(), n_environments=3),
    "agreement_random": Case(AgreementRandom(), n_environments=3),
    "grad_drop": Case(GradDrop()),
}


def batch(case: Case, step: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(case.n_environments, 6, 5, generator=generator, dtype=torch.float64)
    inputs[..., 0] += torch.linspace(-1, 1, case.n_environments, dtype=torch.float64)[:, None]
    return inputs, inputs[..., :3].argmax(-1)


def whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor  # type: ignore[no-any-return]


def evaluate(model: nn.Module, inputs: Tensor) -> None:
    """A pass without gradients, which leaves the root undivided."""
    model.eval()
    with torch.no_grad():
        model(inputs)
    model.train()


def take_step(case: Case, model: nn.Module, aggregator: Aggregator, inputs: Tensor, targets: Tensor) -> Any:
    """One step from the environments of this process, in the form that the case gives them."""
    if case.given == "losses":
        losses = [lambda x=x, y=y: F.cross_entropy(model(x), y) for x, y in zip(inputs, targets, strict=True)]
        return distributed.backward(model, losses, aggregator=aggregator)
    if case.given == "accumulated":
        with ilc.accumulate(aggregator) as votes:
            for n, (x, y) in enumerate(zip(inputs.split(2), targets.split(2), strict=True)):
                if n:
                    evaluate(model, x[0])
                votes.backward(model, F.cross_entropy, x, y)
        return votes.result
    return distributed.backward(model, F.cross_entropy, inputs, targets, aggregator, "sequential")


def trajectory(case: Case, sharded: bool) -> dict[str, Tensor]:
    """Masks, risks and kept shares of every step, and the model at the end."""
    torch.manual_seed(1)
    model = case.model().double()
    model = divided(model) if sharded else model
    aggregator = copy.deepcopy(case.aggregator)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    found: dict[str, list[Tensor]] = {"masks": [], "risks": [], "kept": [], "shares": []}
    for step in range(STEPS):
        inputs, targets = batch(case, step)
        mine = current().part(len(inputs))
        result = take_step(case, model, aggregator, inputs[mine], targets[mine])
        gradients = [whole(p.grad) for p in model.parameters() if p.grad is not None]
        found["masks"].append(torch.cat([gradient.flatten() != 0 for gradient in gradients]))
        # Calls of all processes take turns in the order of environments.
        found["risks"].append(result.risks.sort().values)
        found["kept"].append(result.overall_kept_share.double())
        found["shares"].append(torch.stack([share.double() for share in result.kept_share.values()]))
        optimizer.step()
        if case.given != "accumulated":
            evaluate(model, inputs[0])
    state = {f"model.{name}": whole(value) for name, value in model.state_dict().items()}
    return {name: torch.stack(values) for name, values in found.items()} | state


def all_trajectories(sharded: bool) -> dict[str, dict[str, Tensor]]:
    return {name: trajectory(case, sharded) for name, case in CASES.items()}
