"""Aggregators that look at all environments together, against autograd on the loss that defines them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.aggregators import (
    Aggregator,
    Eqrm,
    GradDrop,
    GramAgreement,
    GramWeights,
    GroupDro,
    Iga,
    JointAggregator,
    LayerAgreement,
    Mean,
    SignElection,
    VRex,
)
from ilc.errors import UserError
from ilc.gradients import backward

E, N, D = 4, 6, 5


def model_of(batch_norm: bool = False) -> nn.Module:
    torch.manual_seed(0)
    norm = [nn.BatchNorm1d(8)] if batch_norm else []
    return nn.Sequential(nn.Linear(D, 8), *norm, nn.Tanh(), nn.Linear(8, 3)).double()


def batch(e: int = E) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(e, N, D, generator=generator, dtype=torch.float64)
    inputs = inputs * torch.linspace(0.2, 3, e, dtype=torch.float64)[:, None, None]
    return inputs, torch.randint(3, (e, N), generator=generator)


def risks_of(model: nn.Module) -> Tensor:
    return torch.stack([F.cross_entropy(model(x), y) for x, y in zip(*batch(), strict=True)])


def rows_of(model: nn.Module, create_graph: bool = False) -> Tensor:
    rows = []
    for risk in risks_of(model):
        found = torch.autograd.grad(
            risk, list(model.parameters()), create_graph=create_graph, retain_graph=True
        )
        rows.append(torch.cat([gradient.flatten() for gradient in found]))
    return torch.stack(rows)


def v_rex(model: nn.Module) -> Tensor:
    risks = risks_of(model)
    return risks.mean() + 10 * (risks - risks.mean()).square().mean()


def group_dro(model: nn.Module) -> Tensor:
    risks = risks_of(model)
    q = (0.5 * risks.detach()).exp()
    return (q / q.sum() * risks).sum()


def eqrm(model: nn.Module) -> Tensor:
    """The quantile, found by Newton's method on the smoothed distribution function, width fixed."""
    risks = risks_of(model)
    width = (4 / 3) ** 0.2 * float(risks.detach().std()) * E**-0.2
    normal = torch.distributions.Normal(0.0, 1.0)
    q = risks.detach().mean()
    for _ in range(100):
        standard = (q - risks.detach()) / width
        q = q - (normal.cdf(standard).mean() - 0.75) / normal.log_prob(standard).exp().mean() * width
    # One more step with the risks' graph has the derivative of the implicit function.
    standard = (q - risks) / width
    return q - (normal.cdf(standard).mean() - 0.75) / normal.log_prob(standard.detach()).exp().mean() * width


def iga(model: nn.Module) -> Tensor:
    rows = rows_of(model, create_graph=True)
    return risks_of(model).mean() + 7 * (rows - rows.mean(0)).square().sum()


CASES: dict[str, tuple[Callable[[], JointAggregator], Callable[[nn.Module], Tensor]]] = {
    "v_rex": (lambda: VRex(10.0), v_rex),
    "group_dro": (lambda: GroupDro(0.5), group_dro),
    "eqrm": (lambda: Eqrm(0.75), eqrm),
    "iga": (lambda: Iga(7.0), iga),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("gradients", ["vectorized", "sequential"])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("in_a_list", [False, True])
def test_the_update_is_the_gradient_of_the_loss(
    name: str, gradients: str, batch_norm: bool, in_a_list: bool
) -> None:
    make, loss = CASES[name]
    model, plain = model_of(batch_norm), model_of(batch_norm)
    inputs, targets = batch()
    given = (list(inputs), list(targets)) if in_a_list else (inputs, targets)
    result = backward(model, F.cross_entropy, *given, make(), gradients)
    loss(plain).backward()
    for p, expected in zip(model.parameters(), plain.parameters(), strict=True):
        assert expected.grad is not None
        torch.testing.assert_close(p.grad, expected.grad, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(result.risks, risks_of(model_of(batch_norm)).detach())
    assert (result.penalties.sum() > 0) == (name == "iga")


@pytest.mark.parametrize("kind", ["UPGrad", "MGDA", "DualProj", "IMTLG", "AlignedMTL"])
@pytest.mark.parametrize("gradients", ["vectorized", "sequential"])
def test_gram_weights_are_torchjds_own_on_the_full_matrix(kind: str, gradients: str) -> None:
    torchjd = pytest.importorskip("torchjd.aggregation")
    model = model_of()
    expected = getattr(torchjd, kind)()(rows_of(model_of()))
    backward(model, F.cross_entropy, *batch(), GramWeights(kind), gradients)
    found = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)
    # Tensor by tensor it would be another update.
    by_tensor = torch.cat(
        [getattr(torchjd, kind)()(part) for part in rows_of(model_of()).split([40, 8, 24, 3], 1)]
    )
    assert not torch.allclose(found, by_tensor, rtol=1e-3)


@pytest.mark.parametrize("make", [lambda: VRex(0.0), lambda: GroupDro(0.0), lambda: Iga(0.0)])
def test_a_weight_of_zero_is_the_mean(make: Callable[[], JointAggregator]) -> None:
    model, plain = model_of(), model_of()
    backward(model, F.cross_entropy, *batch(), make())
    backward(plain, F.cross_entropy, *batch(), Mean())
    for p, expected in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(p.grad, expected.grad)


@pytest.mark.parametrize("kind", [VRex, Iga])
def test_the_penalty_weight_changes_the_update(kind: type[VRex | Iga]) -> None:
    """In DomainBed IGA's once did not: its gradients were cut off from the weights."""
    updates = []
    for weight in (1.0, 100.0):
        model = model_of()
        backward(model, F.cross_entropy, *batch(), kind(weight))
        updates.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
    assert not torch.allclose(updates[0], updates[1], rtol=0.1)


@pytest.mark.parametrize("name", CASES)
def test_one_environment_is_the_plain_gradient(name: str) -> None:
    inputs, targets = batch(1)
    model, plain = model_of(), model_of()
    backward(model, F.cross_entropy, inputs, targets, CASES[name][0]())
    F.cross_entropy(plain(inputs[0]), targets[0]).backward()
    for p, expected in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(p.grad, expected.grad)


def test_group_dro_remembers() -> None:
    risks = torch.tensor([1.0, 2.0, 4.0])
    whole = GroupDro(0.1)
    whole.weights(risks, None)
    again = GroupDro(0.1)
    again.load_state_dict(whole.state_dict())
    twice = whole.weights(risks, None)
    assert torch.equal(again.weights(risks, None), twice)
    torch.testing.assert_close(twice, (0.2 * risks).softmax(0))
    with pytest.raises(UserError, match="remembers 3 environments, got 2"):
        whole.weights(risks[:2], None)


def test_a_high_quantile_is_the_worst_risk() -> None:
    weights = Eqrm(0.9999).weights(torch.tensor([1.0, 1.1, 5.0]), None)
    assert weights[2] > 0.95
    assert torch.equal(Eqrm().weights(torch.ones(4), None), torch.full((4,), 0.25))


@pytest.mark.parametrize("gradients", ["per_example", "per_example_loss", "pooled"])
def test_votes_of_examples_are_refused(gradients: str) -> None:
    inputs, targets = batch()
    with pytest.raises(UserError, match="gradients='vectorized'"):
        backward(
            model_of(),
            F.cross_entropy,
            inputs.flatten(0, 1)[:, None],
            targets.flatten()[:, None],
            VRex(),
            gradients,
        )


def test_stacked_gradients_are_refused() -> None:
    with pytest.raises(UserError, match=r"give it to ilc\.backward"):
        VRex()(torch.randn(3, 4))


@pytest.mark.parametrize("make", [VRex, GroupDro, Iga])
@pytest.mark.parametrize("value", [-1.0, math.inf, math.nan])
def test_values_out_of_range_are_refused(make: Callable[[float], JointAggregator], value: float) -> None:
    with pytest.raises(UserError, match="finite and at least 0"):
        make(value)


def test_no_such_quantile_and_no_such_class() -> None:
    with pytest.raises(UserError, match="quantile"):
        Eqrm(1.0)
    with pytest.raises(UserError, match="kind must be one of"):
        GramWeights("CAGrad")


def with_rows(name: str) -> JointAggregator:
    if name == "AlignedMTL":
        pytest.importorskip("torchjd", reason="needs the extra torchjd")
        return GramWeights(name)
    return {"Iga": Iga, "GramAgreement": GramAgreement, "LayerAgreement": LayerAgreement}[name](0.5)


@pytest.mark.parametrize("gradients", ["vectorized", "sequential"])
@pytest.mark.parametrize("name", ["GramAgreement", "LayerAgreement", "AlignedMTL"])
def test_a_gradient_that_is_not_finite_stays_visible(name: str, gradients: str) -> None:
    """A ``GradScaler`` leaves such a step out, so it must not end with an error of the linear algebra."""
    model, (inputs, targets) = model_of(), batch()
    inputs[1, 2] = torch.nan
    backward(model, F.cross_entropy, inputs, targets, with_rows(name), gradients)
    assert all(p.grad is not None and p.grad.isnan().any() for p in model.parameters())


class Scaled(nn.Module):
    """A network with a parameter without axes, and one without components."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = model_of()
        self.scale = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
        self.empty = nn.Parameter(torch.zeros(0, 3, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.layers(x) * self.scale + self.empty.sum()
        return logits


@pytest.mark.parametrize("name", ["Iga", "GramAgreement", "LayerAgreement"])
def test_parameters_without_axes_or_components_have_rows(name: str) -> None:
    found = []
    for gradients in ("vectorized", "sequential"):
        model = Scaled()
        backward(model, F.cross_entropy, *batch(), with_rows(name), gradients)
        found.append([p.grad for p in model.parameters()])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert any(gradient.ndim == 0 and gradient != 0 for gradient in found[0])


@pytest.mark.parametrize("aggregator", [GradDrop(), SignElection()])
@pytest.mark.parametrize("gradients", ["vectorized", "per_example", "per_example_share"])
def test_a_parameter_without_components_leaves_the_kept_share_a_number(
    aggregator: Aggregator, gradients: str
) -> None:
    inputs, targets = batch()
    if gradients != "vectorized":
        inputs, targets = inputs.flatten(0, 1)[:, None], targets.flatten()[:, None]
    result = backward(Scaled(), F.cross_entropy, inputs, targets, aggregator, gradients)
    assert 0 < result.overall_kept_share < 1 and result.kept_share["empty"] == 1


def test_options_that_torchjd_does_not_know_are_one_line() -> None:
    pytest.importorskip("torchjd", reason="needs the extra torchjd")
    with pytest.raises(UserError, match="TorchJD's Krum does not take options=None") as error:
        GramWeights("Krum")
    assert "\n" not in str(error.value)
