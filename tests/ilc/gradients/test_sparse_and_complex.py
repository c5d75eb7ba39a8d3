"""Sparse gradients vote as dense ones; what has no sign is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc import irm_penalty
from ilc.aggregators import AndMask, GeometricMean, Mean, VRex
from ilc.errors import UserError
from ilc.gradients import PER_EXAMPLE, WAYS, backward, environment_gradients
from ilc.objectives import Objective


class Bag(nn.Module):
    """Words and positions, looked up, averaged and classified."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.words: Any = (nn.EmbeddingBag if kind == "bag" else nn.Embedding)(9, 4, sparse=kind != "dense")
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "function":
            words = F.embedding(x, self.words.weight, sparse=True).mean(1)
        elif self.kind == "bag":
            words = self.words(x)
        else:
            words = self.words(x).mean(1)
        result: Tensor = self.head(words)
        return result


def made(kind: str, dtype: torch.dtype = torch.float32) -> Bag:
    torch.manual_seed(7)
    return Bag(kind).to(dtype)


def tokens(e: int, n: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(e)
    return torch.randint(9, (e, n, 5), generator=random), torch.randint(3, (e, n), generator=random)


@pytest.mark.parametrize("kind", ["module", "bag", "function"])
@pytest.mark.parametrize(
    ("way", "aggregator"),
    [
        *((way, Mean()) for way in WAYS),
        *(
            (way, masking)
            for way in WAYS
            if way != "pooled"
            for masking in (AndMask(0.6), GeometricMean(0.0))
        ),
        *((way, VRex(1.0)) for way in ("vectorized", "sequential")),
    ],
)
@pytest.mark.parametrize("e", [1, 4])
def test_sparse_gradients(kind: str, way: str, aggregator: Any, e: int) -> None:
    x, y = tokens(e, 1 if way in PER_EXAMPLE else 6)
    model, dense = made(kind), made("dense")
    try:
        ours = backward(model, F.cross_entropy, x, y, aggregator, way)
    except UserError as error:
        assert "gradients='" in str(error)  # The way that can.
        assert way != "sequential" and (kind, way) != ("module", "vectorized")
        return
    finally:
        assert model.words.sparse
    wanted = backward(dense, F.cross_entropy, x, y, aggregator, "pooled" if way == "pooled" else "sequential")
    assert torch.allclose(ours.risks, wanted.risks)
    for p, q in zip(model.parameters(), dense.parameters(), strict=True):
        assert p.grad is not None and q.grad is not None and p.grad.layout == torch.strided
        assert torch.allclose(p.grad, q.grad, atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("place", ["first", "deep.inner"])
def test_complex_parameters_are_refused_by_name(way: str, dtype: torch.dtype, place: str) -> None:
    class Spectral(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lift, self.deep = nn.Linear(5, 5), nn.Module()
            where: Any = self if place == "first" else self.deep
            setattr(where, place.rpartition(".")[2], nn.Parameter(torch.randn(5, 3, dtype=dtype)))

        def forward(self, x: Tensor) -> Tensor:
            weight = self.get_parameter(place)
            return (self.lift(x).to(dtype) @ weight).abs().float()

    x, y = torch.randn(4, 1, 5), torch.randint(3, (4, 1))
    with pytest.raises(UserError, match=f"^{place} is complex .*view_as_complex"):
        backward(Spectral(), F.cross_entropy, x, y, Mean(), way)
    frozen = Spectral()
    frozen.get_parameter(place).requires_grad_(False)
    if way in ("vectorized", "sequential", "pooled", "per_example_loss"):
        backward(frozen, F.cross_entropy, x, y, Mean(), way)
        assert frozen.lift.weight.grad is not None


def test_the_remedy_for_complex_parameters_works() -> None:
    class Real(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.randn(5, 3, 2))

        def forward(self, x: Tensor) -> Tensor:
            return (x.to(torch.cfloat) @ torch.view_as_complex(self.w)).abs()

    torch.manual_seed(0)
    model, (x, y) = Real(), (torch.randn(4, 6, 5), torch.randint(3, (4, 6)))
    found = {
        way: environment_gradients(model, F.cross_entropy, x, y, AndMask(1.0), way)
        for way in WAYS
        if way in ("vectorized", "sequential")
    }
    ours, theirs = (each.statistics["w"] for each in found.values())
    assert torch.allclose(ours.total, theirs.total, atol=1e-6) and torch.equal(ours.sign_sum, theirs.sign_sum)


BAD_LOSSES: dict[str, tuple[Callable[[Tensor, Tensor], Any], str]] = {
    "complex": (lambda o, t: o.to(torch.cfloat).mean(), "real risk"),
    "vector": (lambda o, t: o.mean(1), "scalar"),
    "number": (lambda o, t: 1.0, "scalar tensor.*got float"),
    "pair": (lambda o, t: (o.mean(), o.mean()), "scalar tensor.*got tuple"),
    "complex objective": (
        lambda o, t: Objective(o.to(torch.cfloat).mean(), o.mean(), o.mean() * 0),
        "real risk",
    ),
    "complex penalty": (lambda o, t: Objective(o.mean(), o.mean(), o.to(torch.cfloat).mean()), "real risk"),
    "penalty that is a number": (lambda o, t: Objective(o.mean(), o.mean(), 0.0), "Objective.*got float"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", BAD_LOSSES)
def test_a_loss_that_is_no_real_scalar_is_refused_by_name(way: str, kind: str) -> None:
    loss, message = BAD_LOSSES[kind]
    if kind == "vector" and way in PER_EXAMPLE:
        loss = lambda o, t: o.sum(0)  # noqa: E731
    for aggregator in (Mean(), VRex(1.0), AndMask(0.5)):
        if way not in ("vectorized", "sequential") and not isinstance(aggregator, Mean):
            continue
        with pytest.raises(UserError, match=message):
            backward(nn.Linear(5, 3), loss, torch.randn(4, 1, 5), torch.zeros(4, 1), aggregator, way)
    assert irm_penalty(torch.randn(4, 3), torch.randint(3, (4,))).ndim == 0


@pytest.mark.parametrize("way", ["vectorized", "sequential", "per_example"])
def test_a_sparse_buffer(way: str) -> None:
    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.register_buffer("adjacency", torch.eye(3).to_sparse())

        def forward(self, x: Tensor) -> Tensor:
            return (self.adjacency.to_dense() @ self.layer(x).mT).mT

    x, y = torch.randn(8, 1, 3), torch.randn(8, 1, 3)
    backward(Graph().eval(), F.mse_loss, x, y, AndMask(0.5), way)
