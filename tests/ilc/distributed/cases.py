"""What the processes of a test do: twenty steps of every method, on small models."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F

from ilc import distributed
from ilc._processes import current
from ilc.aggregators import (
    Aggregator,
    AgreementRandom,
    AndMask,
    Eqrm,
    GeometricMean,
    GradDrop,
    GramAgreement,
    GroupDro,
    Iga,
    LayerAgreement,
    Mean,
    MeanOfEnvironments,
    SandMask,
    SignElection,
    VRex,
    XorMask,
)
from ilc.gradients import BackwardResult
from ilc.objectives import irm_penalty
from lab.environment_task.shared_step import backward_shared_by_processes

STEPS = 20


def irm(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs, targets) + 2 * irm_penalty(outputs, targets)


def linear() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 16), nn.LeakyReLU(), nn.Linear(16, 3))


def batch_norm() -> nn.Module:
    # Without the bias that BatchNorm takes away again: its gradient is rounding, and so are its votes.
    return nn.Sequential(nn.Linear(5, 16, bias=False), nn.BatchNorm1d(16), nn.LeakyReLU(), nn.Linear(16, 3))


def group_norm() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 16), nn.GroupNorm(4, 16), nn.LeakyReLU(), nn.Linear(16, 3))


@dataclass(frozen=True)
class Case:
    aggregator: Aggregator
    n_environments: int = 7
    n_examples: int = 6
    gradients: str = "sequential"
    model: Callable[[], nn.Module] = linear
    loss: Callable[[Tensor, Tensor], Tensor] = F.cross_entropy
    sizes: tuple[int, ...] = ()
    """Examples of each environment, where they differ."""
    given: str = "lists"
    """With ``sizes``, what each process gives: ``lists``, ``nests`` or ``losses``."""


CASES = {
    "and_mask": Case(AndMask(0.4)),
    "and_mask_rescaled": Case(AndMask(0.4, rescale=True), gradients="vectorized"),
    "and_mask_batch_norm": Case(AndMask(0.4), model=batch_norm),
    "and_mask_batch_norm_vectorized": Case(AndMask(0.4), model=batch_norm, gradients="vectorized"),
    "and_mask_fewer_environments_than_processes": Case(AndMask(1.0), n_environments=1),
    "and_mask_two_byte_votes": Case(AndMask(0.1), 131, 1, "vectorized"),
    "geometric_mean": Case(GeometricMean(0.4)),
    "xor_mask": Case(XorMask(0.4)),
    "mean": Case(Mean(), gradients="vectorized"),
    "and_mask_of_unequal_environments": Case(
        AndMask(0.4), gradients="vectorized", model=batch_norm, sizes=(6, 2, 6, 3, 3, 6, 2)
    ),
    "and_mask_of_nests": Case(AndMask(0.4), model=batch_norm, sizes=(6, 2, 6, 3, 3, 6, 2), given="nests"),
    "and_mask_of_losses": Case(AndMask(0.4), sizes=(6, 2, 3), n_environments=3, given="losses"),
    "v_rex_of_nests": Case(VRex(2.0), n_environments=1, sizes=(6,), given="nests"),
    "mean_batch_norm": Case(Mean(), model=batch_norm, gradients="vectorized"),
    "mean_of_one_batch_norm": Case(Mean(), n_environments=1, model=batch_norm, gradients="vectorized"),
    "mean_of_one_in_parts": Case(Mean(), n_environments=1, n_examples=7),
    "mean_of_one_example": Case(Mean(), n_environments=1, n_examples=1),
    "pooled": Case(Mean(), gradients="pooled"),
    "irm": Case(MeanOfEnvironments(), loss=irm, gradients="vectorized"),
    "irm_and_mask": Case(AndMask(0.4), loss=irm),
    "sand_mask": Case(SandMask(0.3), gradients="vectorized"),
    "sign_election": Case(SignElection()),
    "agreement_random": Case(AgreementRandom(), n_environments=3),
    "grad_drop": Case(GradDrop(), gradients="vectorized"),
    "grad_drop_per_example": Case(GradDrop(), 31, 1, "per_example", group_norm),
    "v_rex": Case(VRex(2.0), model=batch_norm),
    "v_rex_vectorized": Case(VRex(2.0), gradients="vectorized", model=batch_norm),
    "v_rex_of_one": Case(VRex(2.0), n_environments=1),
    "group_dro_of_unequal_environments": Case(GroupDro(0.5), sizes=(6, 2, 6, 3, 3, 6, 2)),
    "eqrm": Case(Eqrm(), gradients="vectorized"),
    "gram_agreement": Case(GramAgreement(0.3), gradients="vectorized"),
    "layer_agreement": Case(LayerAgreement(0.3), gradients="vectorized"),
    "iga": Case(Iga(0.3), gradients="vectorized"),
    "per_example": Case(AndMask(0.2), 31, 1, "per_example", group_norm),
    "per_example_loss": Case(GeometricMean(0.2), 13, 1, "per_example_loss", group_norm),
}


def backward_of(
    case: Case, model: nn.Module, some: list[Tensor], theirs: list[Tensor], aggregator: Aggregator
) -> BackwardResult:
    """One step from the environments of this process, in the form that the case gives them."""
    if case.given == "losses":
        losses = [lambda x=x, y=y: case.loss(model(x), y) for x, y in zip(some, theirs, strict=True)]
        return distributed.backward(model, losses, aggregator=aggregator)
    inputs: Any = [{"input": x} for x in some] if case.given == "nests" else some
    return distributed.backward(model, case.loss, inputs, theirs, aggregator, case.gradients)


def trajectory(case: Case, dtype: torch.dtype = torch.float64, steps: int = STEPS) -> dict[str, Any]:
    """Masks, risks and kept shares of every step, and the model at the end, from the whole batch of each."""
    torch.manual_seed(1)
    model = case.model().to(dtype)
    aggregator = deepcopy(case.aggregator)  # Some remember their steps.
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    masks, risks, kept = [], [], []
    for step in range(steps):
        generator = torch.Generator().manual_seed(step)
        inputs = torch.randn(case.n_environments, case.n_examples, 5, generator=generator, dtype=dtype)
        inputs[..., 0] += torch.linspace(-1, 1, case.n_environments, dtype=dtype)[:, None]
        targets = inputs[..., :3].argmax(-1)
        if case.sizes:
            mine = current().part(case.n_environments)
            some = [values[: case.sizes[e]] for e, values in enumerate(inputs)][mine]
            theirs = [values[: case.sizes[e]] for e, values in enumerate(targets)][mine]
            result = backward_of(case, model, some, theirs, aggregator)
        else:
            result = backward_shared_by_processes(
                current(), model, case.loss, inputs, targets, aggregator, case.gradients
            )
        masks.append(torch.cat([p.grad.flatten() != 0 for p in model.parameters() if p.grad is not None]))
        risks.append(result.risks)
        kept.append(result.overall_kept_share)
        optimizer.step()
    return {"masks": torch.stack(masks), "risks": torch.stack(risks), "kept": torch.stack(kept)} | {
        f"model.{name}": value for name, value in model.state_dict().items()
    }


def all_trajectories(dtype: torch.dtype = torch.float64) -> dict[str, dict[str, Any]]:
    return {name: trajectory(case, dtype) for name, case in CASES.items()}


def many_environments() -> dict[str, Any]:
    return trajectory(Case(AndMask(0.05), 4096, 2, "vectorized"), steps=3)


class Counted:
    """Bytes that the collectives of torch.distributed are given, while the block lasts."""

    def __enter__(self) -> Counted:
        self.bytes, self._original = 0, dist.all_reduce

        def counting(tensor: Tensor, *arguments: Any, **options: Any) -> Any:
            self.bytes += tensor.numel() * tensor.element_size()
            return self._original(tensor, *arguments, **options)

        dist.all_reduce = counting
        return self

    def __exit__(self, *_: object) -> None:
        dist.all_reduce = self._original


def bytes_per_step(aggregator: Aggregator, n_environments: int) -> float:
    """Bytes sent for each byte that DDP sends: its gradients, in single precision."""
    model = nn.Sequential(nn.Linear(200, 300), nn.ReLU(), nn.Linear(300, 3))
    inputs, targets = torch.randn(n_environments, 2, 200), torch.zeros(n_environments, 2, dtype=torch.long)
    with Counted() as counted:
        backward_shared_by_processes(
            current(), model, F.cross_entropy, inputs, targets, aggregator, "sequential"
        )
    return counted.bytes / (4 * sum(p.numel() for p in model.parameters()))


def all_bytes_per_step(cases: list[tuple[Aggregator, int]]) -> list[float]:
    return [bytes_per_step(aggregator, n_environments) for aggregator, n_environments in cases]
