"""Sums over examples by the kernel, against the same by PyTorch in double precision."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ilc.kernels import _compiled as compiled
from lab.experiments.linear_unit_tests.logistic_kernel import gradient_sums, hessian_sums
from lab.experiments.linear_unit_tests.risks import LogisticRisk

pytest.importorskip("numba", reason="the kernels need the extra 'kernels'")


def drawn(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("n_parameters", [1, 4, 11])
@pytest.mark.parametrize("n_examples", [5, 512, 1100])
@pytest.mark.usefixtures("kernel_threads")
def test_sums(n_parameters: int, n_examples: int) -> None:
    z = drawn(3, n_parameters, n_examples, seed=0)
    w, u = drawn(3, 2, n_parameters, seed=1), drawn(3, 2, n_parameters, seed=2)
    unlikely = torch.sigmoid(-(w.double() @ z.double()))
    gradient = unlikely @ z.double().mT
    torch.testing.assert_close(gradient_sums(z, w).double(), gradient, rtol=1e-5, atol=1e-3)
    curved = (unlikely * (1 - unlikely) * (u.double() @ z.double())) @ z.double().mT
    torch.testing.assert_close(hessian_sums(z, w, u).double(), curved, rtol=1e-5, atol=1e-3)


def test_small_probabilities_keep_their_digits_and_none_overflows() -> None:
    margins = torch.tensor([-300.0, -20.0, 0.0, 20.0, 60.0, 300.0])
    # One example each: the sum over it is the probability of its being wrong, times one.
    found = gradient_sums(torch.ones(6, 1, 1), margins.view(6, 1, 1)).view(6)
    torch.testing.assert_close(found[:5], torch.sigmoid(-margins[:5]), rtol=1e-5, atol=0)
    assert 0 <= found[5] < 1e-37


def test_risks_are_those_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    risk = LogisticRisk(drawn(2, 3, 6, 700, seed=3))
    weights, directions = drawn(2, 6, 5, seed=4), drawn(2, 3, 6, 5, seed=5)
    assert compiled.usable(weights)
    ours = risk.at(weights)
    found = [ours.gradients, ours.risks, ours.hessian_products(directions)]
    monkeypatch.setattr(compiled, "installed", lambda: False)
    theirs = risk.at(weights)
    expected = [theirs.gradients, theirs.risks, theirs.hessian_products(directions)]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
