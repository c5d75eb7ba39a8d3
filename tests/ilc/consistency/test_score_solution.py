"""The one call from a trained model to a score: its parts beside plain computations, and what it warns of."""

from __future__ import annotations

import math
import warnings
from statistics import NormalDist

import pytest
import torch
from scipy import stats
from torch import Tensor, nn
from torch.nn import functional as F

from ilc.consistency import environment_losses, hessian_vector, quadratic, score_solution, search
from ilc.consistency._damping import default_damping
from ilc.errors import UserError
from ilc.objectives import Objective

E = 3


def batch(n: int, width: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Environments whose inputs differ in size; the labels are noisy, so that risks have minima."""
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.linspace(0.5, 2, E, dtype=torch.float64)[:, None, None]
    inputs = torch.randn(E, n, width, generator=generator, dtype=torch.float64) * sizes
    noise = 0.5 * torch.randn(E, n, generator=generator, dtype=torch.float64)
    return inputs, (inputs[..., 0] + noise > 0).double()


def risk(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(outputs[:, 0], targets)


def fitted(model: nn.Module, inputs: Tensor, targets: Tensor) -> nn.Module:
    """The model at the minimum of the mean risk."""
    model = model.double()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=100, line_search_fn="strong_wolfe")

    def mean_risk() -> Tensor:
        optimizer.zero_grad()
        mean = torch.stack([risk(model(x), y) for x, y in zip(inputs, targets, strict=True)]).mean()
        mean.backward()
        return mean

    optimizer.step(mean_risk)
    return model


def linear(n: int = 100, seed: int = 0) -> tuple[nn.Module, Tensor, Tensor]:
    torch.manual_seed(seed)
    inputs, targets = batch(n, 4, seed)
    return fitted(nn.Linear(4, 1), inputs, targets), inputs, targets


def perceptron() -> tuple[nn.Module, Tensor, Tensor]:
    """More parameters than the default Lanczos steps."""
    torch.manual_seed(0)
    inputs, targets = batch(60, 6)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1)).double(), inputs, targets


def test_the_estimators_agree_on_a_regression() -> None:
    """Its risks are quadratic, so that all three see the same landscape."""
    generator = torch.Generator().manual_seed(0)
    inputs = batch(50, 2)[0][:2]
    noise = 0.3 * torch.randn(2, 50, generator=generator).double()
    targets = inputs @ torch.tensor([1.0, -0.5]).double() + noise
    losses = [lambda p, x=x, y=y: (x @ p - y).square().mean() for x, y in zip(inputs, targets, strict=True)]
    theta = torch.linalg.lstsq(inputs.flatten(0, 1), targets.flatten()[:, None]).solution[:, 0]
    exact = quadratic(losses, theta, 0.1).inconsistency
    assert hessian_vector(losses, theta, 0.1).inconsistency == pytest.approx(exact, rel=1e-6)
    climbed = search(losses, theta, 0.1, starts=4, iterations=12).inconsistency
    assert 0.99 * exact < climbed < 1.001 * exact


@pytest.mark.slow
def test_the_estimators_agree_on_a_logistic_regression() -> None:
    """At an epsilon at which the risks are nearly quadratic; search is a minute of work."""
    model, inputs, targets = linear(300, 1)
    exact, fast, climbed = (
        score_solution(model, risk, inputs, targets, 0.001, method, groups=0).score
        for method in ("quadratic", "hessian_vector", "search")
    )
    assert fast == pytest.approx(exact, rel=1e-6)
    assert climbed == pytest.approx(exact, rel=0.02)


def test_both_forms_have_one_default_damping() -> None:
    model, inputs, targets = perceptron()
    losses, theta = environment_losses(model, risk, inputs, targets)
    assert len(theta) == 129
    for form in (quadratic, hessian_vector):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            called = score_solution(model, risk, inputs, targets, method=form.__name__, groups=0)
        assert called.damping == 0.1
        assert called.score == form(losses, theta, 0.01).score == form(losses, theta, 0.01, damping=0.1).score
    assert quadratic(losses, theta, 0.01).score == pytest.approx(
        hessian_vector(losses, theta, 0.01).score, rel=0.03
    )
    assert default_damping(60, torch.float64) == 1e-12 and default_damping(61, torch.float64) == 0.1
    few = linear()
    own, at = environment_losses(few[0], risk, *few[1:])
    with pytest.raises(UserError, match=r"lanczos_steps=3 .* of 5 parameters.*damping=0\.1"):
        hessian_vector(own, at, 0.01, lanczos_steps=3)
    assert math.isfinite(hessian_vector(own, at, 0.01, damping=0.1, lanczos_steps=3).score)


@pytest.mark.parametrize(("make", "method"), [(linear, "quadratic"), (perceptron, "hessian_vector")])
def test_the_choice_and_what_is_said(make, method: str) -> None:
    model, inputs, targets = make()
    before = [p.detach().clone() for p in model.parameters()]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = score_solution(model, risk, inputs, targets)
    assert found.method == method and found.why.startswith(method)
    assert [str(one.message) for one in said] == [
        f"the consistency score {found.score:.4g} may mislead: {one}" for one in found.warnings
    ]
    text = str(found)
    assert f"consistency {found.score:.4g} (95% interval" in text and found.why in text
    assert all(f"warning: {one}" in text for one in found.warnings)
    assert found.low < found.score < found.high < 0 and found.ratio == pytest.approx(-found.score / 0.01)
    risks = [risk(model(x), y).item() for x, y in zip(inputs, targets, strict=True)]
    assert found.spread == pytest.approx(max(risks) - min(risks))
    assert all(torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True))


def test_the_truth_at_the_step_is_that_of_the_moved_model() -> None:
    model, inputs, targets = linear()
    found = score_solution(model, risk, inputs, targets, groups=0)
    e, other = found.found.pair
    at_home = risk(model(inputs[e]), targets[e]).item()
    with torch.no_grad():
        model.weight += found.found.step[:4]
        model.bias += found.found.step[4:]
    assert found.rise == pytest.approx(risk(model(inputs[e]), targets[e]).item() - at_home)
    assert found.gap == pytest.approx(abs(risk(model(inputs[other]), targets[other]).item() - at_home))
    assert math.isnan(found.low) and "no interval" in str(found)


def test_the_interval_is_the_jackknife_over_examples() -> None:
    model, inputs, targets = linear()
    found = score_solution(model, risk, inputs, targets, groups=4, confidence=0.9)
    logs = []
    for left_out in range(4):
        kept = [i for i in range(100) if i % 4 != left_out]
        losses, theta = environment_losses(model, risk, inputs[:, kept], targets[:, kept])
        logs.append(math.log(quadratic(losses, theta, 0.01).inconsistency))
    error = math.sqrt(3 / 4 * sum((one - sum(logs) / 4) ** 2 for one in logs))
    half = stats.t.ppf(0.95, 3) * error
    assert found.low == pytest.approx(found.score * math.exp(half))
    assert found.high == pytest.approx(found.score * math.exp(-half))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the consistency score")
def test_the_interval_contains_the_score_of_many_examples() -> None:
    """Of 60 samples of 150 examples; 55 were measured. Fewer than 51 speak against a level of 95 %."""
    many = batch(20_000, 4, seed=7)
    inside = 0
    for seed in range(100, 160):
        model, inputs, targets = linear(150, seed)
        found = score_solution(model, risk, inputs, targets)
        truth = score_solution(model, risk, *many, groups=0)
        inside += found.low <= truth.score <= found.high
    tail = NormalDist(60 * 0.95, math.sqrt(60 * 0.95 * 0.05)).inv_cdf(0.001)
    assert inside >= tail


def test_a_quadratic_model_that_does_not_hold_is_named() -> None:
    """A quartic valley: the second order sees a flat direction and goes far."""
    losses_of = nn.Linear(2, 1, bias=False).double()
    with torch.no_grad():
        losses_of.weight.fill_(0.0)
    inputs = torch.eye(2, dtype=torch.float64).expand(2, 2, 2) * torch.tensor([1.0, 2.0])[:, None, None]

    def quartic(outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs**4).mean() + 1e-3 * (outputs**2).mean()

    with pytest.warns(UserWarning, match="does not hold at the deciding step"):
        found = score_solution(losses_of, quartic, inputs, inputs, epsilon=0.1, groups=0)
    assert found.rise > 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = score_solution(losses_of, quartic, inputs, inputs, epsilon=1e-9, groups=0)
    assert small.rise == pytest.approx(1e-9, rel=0.1) and small.ratio == pytest.approx(4, rel=0.01)


def test_a_solution_that_is_no_minimum_is_named() -> None:
    model, inputs, targets = perceptron()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = score_solution(model, risk, inputs, targets, damping=1e-3, groups=0)
    assert any("the solution is no minimum" in str(one.message) for one in said)
    assert found.found.negative_curvature > 1e-3


def test_batches_as_ilc_backward_takes_them() -> None:
    model, inputs, targets = linear()
    whole = score_solution(model, risk, inputs, targets)

    def objective(outputs: Tensor, targets: Tensor) -> Objective:
        value = risk(outputs, targets)
        return Objective(value, value, torch.zeros(()))

    for x, y in (
        (list(inputs), list(targets)),
        ({"input": inputs}, targets),
        ([{"input": one} for one in inputs], list(targets)),
    ):
        assert score_solution(model, objective, x, y).score == pytest.approx(whole.score)
    unequal = [inputs[0], inputs[1][:50], inputs[2][:20]], [targets[0], targets[1][:50], targets[2][:20]]
    assert score_solution(model, risk, *unequal).low < whole.score
    # A nest may have no axis of examples, so nothing is left out of it.
    assert math.isnan(score_solution(model, risk, {"input": inputs}, targets).low)


@pytest.mark.parametrize("form", [quadratic, hessian_vector, search])
def test_progress_counts_environments_and_pairs(form) -> None:
    model, inputs, targets = linear()
    losses, theta = environment_losses(model, risk, inputs, targets)
    seen: list[tuple[int, int]] = []
    options = {"starts": 2, "iterations": 1} if form is search else {}
    form(losses, theta, 0.01, progress=lambda done, of: seen.append((done, of)), **options)
    assert seen == [(i, 12) for i in range(1, 13)]


def test_the_progress_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 4))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    model, inputs, targets = linear()
    score_solution(model, risk, inputs, targets, groups=0, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4  # every third of 12 parts, which take 4 seconds each
    assert lines[0] == "consistency score: 3 of 12 parts, 12 s, about 36 s left"
    score_solution(model, risk, inputs, targets, groups=0, progress=False)
    score_solution(model, risk, inputs, targets, groups=0)  # no terminal here
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "guess"}, "method must be auto or one of"),
        ({"groups": 2}, "groups must be 0"),
        ({"confidence": 1.0}, "confidence"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"damping": 0.0}, "damping"),
        ({"inputs": torch.zeros(1, 5, 4).double(), "targets": torch.zeros(1, 5).double()}, "at least two"),
        ({"inputs": torch.zeros(5, 4)}, "first two axes"),
        ({"model": nn.Sequential(nn.Linear(4, 1), nn.Dropout(0.5))}, r"model\.eval\(\)"),
        ({"model": nn.Linear(4, 1, device="meta")}, "on the CPU"),
    ],
)
def test_mistakes_are_named(change, message: str) -> None:
    model, inputs, targets = linear(20)
    given = {"model": model, "loss_fn": risk, "inputs": inputs, "targets": targets}
    with pytest.raises(UserError, match=message):
        score_solution(**(given | change))
