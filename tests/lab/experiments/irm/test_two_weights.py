"""The model of two weights: its gradients, and where plain descent and a vote by sign end."""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F

from lab.experiments.irm.color_votes import LABEL_NOISE
from lab.experiments.irm.measurements.two_weights import descended, gradients

BEST_ON_DIGIT = math.log((1 - LABEL_NOISE) / LABEL_NOISE)


def best_on_color(noise: float) -> float:
    return math.log((1 - noise) / noise)


def test_gradients_are_those_of_the_risk_over_all_cases() -> None:
    noise, weights = 0.2, torch.tensor([0.3, -0.7], dtype=torch.float64, requires_grad=True)
    risk = torch.zeros((), dtype=torch.float64)
    for label in (1, -1):
        for digit_right, p_digit in ((1, 1 - LABEL_NOISE), (-1, LABEL_NOISE)):
            for color_right, p_color in ((1, 1 - noise), (-1, noise)):
                margin = label * (weights[0] * label * digit_right + weights[1] * label * color_right)
                risk = risk + 0.5 * p_digit * p_color * F.softplus(-margin)
    expected = torch.autograd.grad(risk, weights)[0]
    found = gradients(weights.detach()[None], torch.tensor([[noise, noise]], dtype=torch.float64))
    torch.testing.assert_close(found[0], expected.expand(2, 2))


def test_plain_descent_finds_the_best_weights() -> None:
    noises = torch.tensor([[0.1, 0.3]], dtype=torch.float64)
    # The mean risk is that of one environment with the mean noise.
    best = torch.tensor([BEST_ON_DIGIT, best_on_color(0.2)], dtype=torch.float64)
    torch.testing.assert_close(descended(noises, masked=False, steps=3000)[0], best, atol=1e-4, rtol=0)


def test_a_vote_stops_the_color_at_the_noisier_environment() -> None:
    noises = torch.tensor([[0.1, 0.2], [0.1, 0.4], [0.1, 0.6]], dtype=torch.float64)
    digit, color = descended(noises, masked=True, steps=3000).unbind(-1)
    for row, noise in enumerate((0.2, 0.4)):
        assert 0.9 * best_on_color(noise) < color[row] < best_on_color(noise)
        assert digit[row] < BEST_ON_DIGIT
    # Once the colour says the opposite, its weight never moves, and the digit gets all that it deserves.
    assert color[2] == 0
    assert abs(digit[2] - BEST_ON_DIGIT) < 1e-6
