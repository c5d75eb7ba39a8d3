"""Algorithm 1 of the paper against plain Python, torch's own Adam and what a mask over time must do."""

from __future__ import annotations

import io
import math
import time
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn, optim

from ilc.errors import UserError
from ilc.optim import TemporalMaskAdam

BETAS = (0.7, 0.95, 0.8)
SHAPES = ((7, 3), (5,), ())


def plain_algorithm_1(
    theta: Tensor, gradients: list[Tensor], lr: float, tau: float, eps: float, decay: float
) -> Tensor:
    """The five printed lines in plain Python, component by component, and the decay as a second update."""
    beta_1, beta_2, beta_3 = BETAS
    flat: list[float] = theta.flatten().tolist()
    histories = torch.stack([gradient.flatten() for gradient in gradients]).T.tolist()
    for i, history in enumerate(histories):
        m = v = a = 0.0
        for g in history:
            m = beta_1 * m + (1 - beta_1) * g
            v = beta_2 * v + (1 - beta_2) * g * g
            a = beta_3 * a + (1 - beta_3) * ((g > 0) - (g < 0))
            b = 1.0 if abs(a) >= tau else 0.0
            flat[i] = flat[i] - lr * (m * b) / math.sqrt(v + eps)
            flat[i] = flat[i] - lr * decay * flat[i]
    return torch.tensor(flat, dtype=theta.dtype).reshape(theta.shape)


def make_problem(steps: int = 100) -> tuple[list[nn.Parameter], list[list[Tensor]]]:
    """Parameters, and gradients with a steady part, so that masks open and close."""
    generator = torch.Generator().manual_seed(3)
    parameters = [
        nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64)) for shape in SHAPES
    ]
    drift = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in SHAPES]
    gradients = [
        [d * 0.7 + torch.randn(d.shape, generator=generator, dtype=torch.float64) for d in drift]
        for _ in range(steps)
    ]
    return parameters, gradients


def follow(
    optimizer: optim.Optimizer, parameters: list[nn.Parameter], gradients: list[list[Tensor]]
) -> list[float]:
    """Take the steps; the kept share after each."""
    shares = []
    for step in gradients:
        for p, g in zip(parameters, step, strict=True):
            p.grad = g.clone().to(p.dtype)
        optimizer.step()
        if isinstance(optimizer, TemporalMaskAdam):
            shares.append(float(optimizer.kept_share))
    return shares


@pytest.mark.parametrize(
    ("tau", "eps", "decay"), [(0.0, 1e-8, 0.0), (0.4, 1e-8, 0.0), (0.6, 1e-3, 0.3), (0.9, 0.1, 0.05)]
)
def test_equals_a_plain_version(tau: float, eps: float, decay: float) -> None:
    parameters, gradients = make_problem()
    expected = [
        plain_algorithm_1(p.detach(), [step[i] for step in gradients], 0.02, tau, eps, decay)
        for i, p in enumerate(parameters)
    ]
    optimizer = TemporalMaskAdam(parameters, 0.02, BETAS, tau, eps, decay)
    shares = follow(optimizer, parameters, gradients)
    for p, value in zip(parameters, expected, strict=True):
        torch.testing.assert_close(p.detach(), value, rtol=1e-6, atol=1e-6)
    if tau == 0.4:
        assert 0.2 < sum(shares) / len(shares) < 0.95  # The masks did open and close.


def test_flipping_signs_are_masked_and_steady_ones_pass() -> None:
    parameter = nn.Parameter(torch.zeros(2))
    optimizer = TemporalMaskAdam([parameter], 0.01, (0.9, 0.999, 0.9), agreement_threshold=0.3)
    for step in range(200):
        parameter.grad = torch.tensor([(-1.0) ** step, 1.0])
        optimizer.step()
    assert parameter[0] == 0  # Never moved, whatever its momentum.
    assert parameter[1] < -1
    assert optimizer.kept_share == 0.5


def test_a_mask_opens_at_the_threshold_and_not_before() -> None:
    """|a| = 1 - 0.5^t with a steady sign: 0.5, 0.75, 0.875, exactly. The comparison is inclusive."""
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = TemporalMaskAdam([parameter], 0.01, (0.0, 0.0, 0.5), agreement_threshold=0.75)
    moved = []
    for _ in range(3):
        before = parameter.item()
        parameter.grad = torch.ones(1)
        optimizer.step()
        moved.append(parameter.item() != before)
    assert moved == [False, True, True]


@pytest.mark.parametrize("decoupled", [False, True])
def test_threshold_0_in_pytorchs_form_is_pytorchs_adam(decoupled: bool) -> None:
    ours, gradients = make_problem()
    theirs, _ = make_problem()
    kind = optim.AdamW if decoupled else optim.Adam
    # PyTorch decays before the step, we after it: the same factor one step later.
    decay = 0.0 if decoupled else 0.1
    follow(kind(theirs, 0.02, BETAS[:2], 1e-3, decay), theirs, gradients)
    follow(
        TemporalMaskAdam(ours, 0.02, BETAS, 0.0, 1e-3, decay, decoupled, pytorch_form=True), ours, gradients
    )
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_pytorchs_form_has_the_same_mask() -> None:
    runs = []
    for pytorch_form in (False, True):
        parameters, gradients = make_problem()
        optimizer = TemporalMaskAdam(parameters, 1e-3, BETAS, 0.5, pytorch_form=pytorch_form)
        runs.append(follow(optimizer, parameters, gradients))
    assert runs[0] == runs[1]
    assert min(runs[0]) < 0.5 < max(runs[0])


def test_decoupled_decay_passes_the_mask_and_a_coupled_one_does_not() -> None:
    values = {}
    for decoupled in (False, True):
        parameter = nn.Parameter(torch.ones(1))
        optimizer = TemporalMaskAdam([parameter], 0.1, BETAS, 1.0, weight_decay=0.5, decoupled=decoupled)
        parameter.grad = torch.zeros(1)
        optimizer.step()
        values[decoupled] = parameter.item()
    assert values == {False: 1.0, True: pytest.approx(0.95)}


@given(
    share=st.floats(0, 1),
    tau=st.floats(0.05, 0.95),
    seed=st.integers(0, 1000),
)
def test_no_step_is_larger_than_without_a_mask(share: float, tau: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    gradients = [[torch.randn(20, generator=generator) + share] for _ in range(5)]
    results = []
    for threshold in (0.0, tau):
        parameter = nn.Parameter(torch.zeros(20))
        optimizer = TemporalMaskAdam([parameter], 0.01, BETAS, threshold)
        follow(optimizer, [parameter], gradients[:-1])
        before = parameter.detach().clone()
        follow(optimizer, [parameter], gradients[-1:])
        results.append((parameter.detach() - before).abs())
    # The moments do not depend on the parameters here, so the steps compare one by one.
    assert bool(((results[1] == 0) | ((results[1] - results[0]).abs() < 1e-6)).all())


def test_continues_from_a_saved_state() -> None:
    straight, gradients = make_problem()
    follow(TemporalMaskAdam(straight, 0.02, BETAS, 0.5), straight, gradients)

    parameters, _ = make_problem()
    first = TemporalMaskAdam(parameters, 0.02, BETAS, 0.5)
    follow(first, parameters, gradients[:40])
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = TemporalMaskAdam(parameters, 0.5, (0.1, 0.1, 0.1), 0.0)  # All of it comes from the file.
    second.load_state_dict(torch.load(file, weights_only=True))
    follow(second, parameters, gradients[40:])
    for a, b in zip(parameters, straight, strict=True):
        assert torch.equal(a, b)


def test_parameters_without_gradient_are_left_alone() -> None:
    used, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimizer = TemporalMaskAdam([used, unused], 0.1, BETAS, 0.0, weight_decay=0.1)
    assert float(optimizer.kept_share) == 1.0
    used.grad = torch.ones(2)
    optimizer.step()
    assert torch.equal(unused, torch.ones(2))
    assert bool((used < 1).all())


def test_a_broken_gradient_stays_visible() -> None:
    parameter = nn.Parameter(torch.zeros(2))
    parameter.grad = torch.tensor([math.nan, 1.0])
    TemporalMaskAdam([parameter], 0.1, BETAS, 0.9).step()
    assert parameter[0].isnan()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -1.0}, "lr must be"),
        ({"lr": math.inf}, "lr must be"),
        ({"eps": "small"}, "eps must be"),
        ({"weight_decay": -0.1}, "weight_decay must be"),
        ({"betas": (0.9, 0.999)}, "beta_1, beta_2 and beta_3"),
        ({"betas": (0.9, 0.999, 1.0)}, "betas must be"),
        ({"agreement_threshold": 1.5}, "agreement_threshold must lie"),
        ({"agreement_threshold": math.nan}, "agreement_threshold must lie"),
    ],
)
def test_bad_values_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        TemporalMaskAdam([nn.Parameter(torch.ones(1))], **options)
    with pytest.raises(UserError, match=message):  # In a group of its own, too.
        TemporalMaskAdam([{"params": [nn.Parameter(torch.ones(1))], **options}])


@pytest.mark.parametrize("option", ["maximize", "amsgrad"])
def test_a_group_cannot_ask_for_an_option_that_is_not_there(option: str) -> None:
    """As for a group of ``CautiousAdam``. The step would minimise without a word."""
    parameter = nn.Parameter(torch.ones(1))
    with pytest.raises(UserError, match=f"TemporalMaskAdam has no option {option}, got True"):
        TemporalMaskAdam([{"params": [parameter], option: True}])
    TemporalMaskAdam([{"params": [parameter], option: False}])


def test_no_parameters_and_sparse_gradients_are_refused() -> None:
    with pytest.raises(UserError, match="no parameters"):
        TemporalMaskAdam([])
    parameter = nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2).to_sparse()
    with pytest.raises(UserError, match="dense"):
        TemporalMaskAdam([parameter]).step()


@pytest.mark.slow
def test_costs_little_more_than_adam() -> None:
    """`scripts/benchmark.py optimizer` measures 1.3 at most; twice that allows for a busy machine."""
    parameters = [nn.Parameter(torch.randn(512, 512)) for _ in range(20)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    optimizers = (TemporalMaskAdam(parameters), optim.Adam(parameters))
    fastest = [math.inf, math.inf]
    for _ in range(50):
        for i, optimizer in enumerate(optimizers):
            began = time.perf_counter()
            optimizer.step()
            fastest[i] = min(fastest[i], time.perf_counter() - began)
    assert fastest[0] < 2.6 * fastest[1]
