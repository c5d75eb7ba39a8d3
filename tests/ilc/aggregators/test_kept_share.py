"""The kept share of every aggregator means what ``Combined`` says, beside plain loops and in a step."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import ilc.aggregators
from ilc.aggregators import (
    Aggregator,
    AgreementRandom,
    AgreementSum,
    AndMask,
    Eqrm,
    GeometricMean,
    GradDrop,
    GramAgreement,
    GramWeights,
    GroupDro,
    Iga,
    JointAggregator,
    LayerAgreement,
    Mean,
    MeanOfEnvironments,
    SandMask,
    SignElection,
    VRex,
    Weighting,
    XorMask,
)
from ilc.gradients import backward

E, P = 5, 40


def rows() -> Tensor:
    """Gradients that agree in some components and in some directions, with two components that are zero."""
    torch.manual_seed(0)
    found = torch.randn(E, P, dtype=torch.float64) + torch.randn(P, dtype=torch.float64)
    found[:, :2] = 0
    return found


def agreeing(gradients: Tensor, threshold: float) -> float:
    """The share of components of which enough signs agree, one by one."""
    kept = 0
    for column in gradients.T.tolist():
        plus, minus = sum(g > 0 for g in column), sum(g < 0 for g in column)
        kept += abs(plus - minus) >= threshold * len(column) - 1e-9
    return kept / gradients.shape[1]


def sand(gradients: Tensor) -> float:
    total = 0.0
    for column in gradients.T:
        excess = abs(float(column.sign().sum())) / E - 0.5
        total += max(0.0, float(torch.tanh(10 * excess / column.var()))) if excess > 0 else 0.0
    return total / P


def elected(gradients: Tensor) -> float:
    """The share of environments with the sum's sign; where all are zero nobody is elected."""
    total = 0.0
    for column in gradients.T.tolist():
        sign = (sum(column) > 0) - (sum(column) < 0)
        total += sum(1.0 if g * sign > 0 else 0.5 if g * sign == 0 else 0.0 for g in column) / E
    return total / P


def drawn(gradients: Tensor) -> float:
    """The share of environments with the drawn sign; the draw is that of a fresh GradDrop."""
    uniform = torch.rand(1, P, generator=torch.Generator().manual_seed(0))[0].tolist()
    total = 0.0
    for column, u in zip(gradients.T.tolist(), uniform, strict=True):
        size = sum(map(abs, column))
        sign = 1 if (size and (1 + sum(column) / size) / 2 > u) or (not size and u < 0.5) else -1
        total += sum(1.0 if g * sign > 0 else 0.5 if g == 0 else 0.0 for g in column) / E
    return total / P


def directions(gradients: Tensor) -> float:
    """The share of singular directions on which enough signs agree."""
    left, sizes, _ = torch.linalg.svd(gradients, full_matrices=False)
    assert bool((sizes > 1e-3).all())
    return agreeing(left, 0.5)


def all_of_it(gradients: Tensor) -> float:
    return 1.0


CASES: dict[type[Aggregator], tuple[Callable[[], Aggregator], Callable[[Tensor], float]]] = {
    Mean: (Mean, all_of_it),
    MeanOfEnvironments: (MeanOfEnvironments, all_of_it),
    AndMask: (lambda: AndMask(0.6), lambda g: agreeing(g, 0.6)),
    GeometricMean: (lambda: GeometricMean(0.6, rescale=True), lambda g: agreeing(g, 0.6)),
    XorMask: (lambda: XorMask(0.6), lambda g: 1 - agreeing(g, 0.6)),
    SandMask: (SandMask, sand),
    SignElection: (SignElection, elected),
    GradDrop: (GradDrop, drawn),
    AgreementSum: (AgreementSum, lambda g: agreeing(g, 1)),
    AgreementRandom: (AgreementRandom, lambda g: agreeing(g, 1)),
    VRex: (VRex, all_of_it),
    GroupDro: (GroupDro, all_of_it),
    Eqrm: (Eqrm, all_of_it),
    Iga: (lambda: Iga(1.0), all_of_it),
    GramWeights: (lambda: GramWeights("MGDA"), all_of_it),
    GramAgreement: (lambda: GramAgreement(0.5), directions),
    LayerAgreement: (lambda: LayerAgreement(0.5), directions),  # of one output these two are the same
}
BASES = (Aggregator, JointAggregator, Weighting)


def step(aggregator: Aggregator, gradients: Tensor) -> tuple[float, Tensor]:
    """The overall kept share and the update of a step whose environments have these gradients ``[E, P]``."""
    model = nn.Linear(P, 1, bias=False).double()
    result = backward(
        model, lambda outputs, _: outputs.mean(), gradients[:, None], gradients[:, :1], aggregator
    )
    assert model.weight.grad is not None
    torch.testing.assert_close(result.overall_kept_share, result.kept_share["weight"], check_dtype=False)
    return float(result.overall_kept_share), model.weight.grad[0]


def test_every_aggregator_is_here() -> None:
    public = [getattr(ilc.aggregators, name) for name in ilc.aggregators.__all__]
    every = {one for one in public if isinstance(one, type) and issubclass(one, Aggregator)}
    assert every - set(BASES) == CASES.keys()


@pytest.mark.parametrize("kind", CASES)
def test_the_kept_share_is_that_of_a_plain_loop(kind: type[Aggregator]) -> None:
    if kind is GramWeights:
        pytest.importorskip("torchjd.aggregation")
    make, oracle = CASES[kind]
    share, _ = step(make(), rows())
    assert share == pytest.approx(oracle(rows()), abs=1e-6)
    assert (0 < share < 1) == (oracle is not all_of_it)


@pytest.mark.parametrize("kind", [GramAgreement, LayerAgreement])
def test_what_is_dropped_is_not_said_to_be_kept(kind: type[GramAgreement | LayerAgreement]) -> None:
    found = {threshold: step(kind(threshold), rows()) for threshold in (0.0, 0.5, 1.0)}
    shares = [share for share, _ in found.values()]
    norms = [float(update.norm() / rows().mean(0).norm()) for _, update in found.values()]
    assert shares[0] == 1 and norms[0] == pytest.approx(1)
    assert shares == sorted(shares, reverse=True) and shares[1] < 1
    assert norms[2] <= norms[1] + 1e-12 and norms[1] < 1
    same = rows()[:1].expand(E, -1)
    assert step(kind(1.0), same)[0] == 1
    assert step(kind(1.0), torch.zeros_like(same))[0] == AndMask(1.0).combine(zeros()).kept_share == 0


def zeros() -> ilc.aggregators.GradientStatistics:
    return ilc.aggregators.GradientStatistics.zeros(torch.zeros(P)).add_(torch.zeros(E, P))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_directions_of_a_layer_without_gradient_do_not_count(dtype: torch.dtype) -> None:
    """Two environments of rank one fill a corner of 2 x 2 in a basis of 30 x 20; the rest is rounding."""
    torch.manual_seed(1)
    left, right = (torch.linalg.qr(torch.randn(n, 2, dtype=dtype)).Q for n in (30, 20))
    corner = torch.tensor([[[3.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, -1.0]]], dtype=dtype)
    found = LayerAgreement(1.0).masked(left @ corner @ right.mT)
    assert found.kept_share == 0.5  # one of two components agrees
    torch.testing.assert_close(found.update, 2.5 * torch.outer(left[:, 0], right[:, 0]))
