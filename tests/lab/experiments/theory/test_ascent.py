import pytest
import torch

from ilc.consistency import consistency_score, search
from ilc.errors import UserError
from lab.experiments.theory import patchwork

THETA = torch.tensor(patchwork.CENTRED, dtype=torch.float64)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["quadratic", "search"])
def test_the_patchwork_scores_far_worse_than_the_same_network_seen_whole_by_both_environments(method):
    options = {"starts": 8, "iterations": 40} if method == "search" else {}
    scores = {
        split: consistency_score(patchwork.environment_risks(split), THETA, 0.01, method, **options)
        for split in ("interval", "interleaved")
    }
    assert scores["interval"] < 100 * scores["interleaved"] < 0


def test_printed_patchwork_has_the_risks_of_the_facts_sheet():
    risks = patchwork.environment_risks("interval")

    def at(values):
        return [float(r(torch.tensor(values, dtype=torch.float64))) for r in risks]

    assert at(patchwork.PATCHWORK) == pytest.approx([0.046, 0.007], abs=6e-4)
    assert at(patchwork.ALTERED) == pytest.approx([0.046, 1.06], abs=6e-3)
    assert at(patchwork.CENTRED) == pytest.approx([0.003, 0.003], abs=6e-4)


def double_well(s):
    """Two wells, at -1 and 1, with a hill of height 1 between them."""
    return (s.square().sum() - 1).square()


def test_search_never_jumps_into_a_region_that_is_not_connected():
    def other(s):
        return 0.5 * (s.sum() + 1).square()

    home = torch.tensor([-1.0], dtype=torch.float64)
    found = search([double_well, other], home, 0.5, starts=8)
    # The other well, 2 away, would give a gap above 1.7; the connected one ends at -0.54.
    left = (1 + 0.5**0.5) ** 0.5
    right = (1 - 0.5**0.5) ** 0.5
    assert found.gaps[0, 1] == pytest.approx(max(0.5 * (1 - left) ** 2, 0.5 * (1 - right) ** 2), rel=1e-3)


def test_the_found_point_is_inside_and_attains_the_gap():
    losses = patchwork.environment_risks("interleaved")
    found = search(losses, THETA, 0.01, starts=8, iterations=50)
    e, other = found.pair
    reached = THETA + found.step
    assert float(losses[e](reached)) <= float(losses[e](THETA)) + 0.01
    assert abs(float(losses[other](reached) - losses[e](THETA))) == pytest.approx(found.inconsistency)
    assert found.estimate == "lower bound on the inconsistency"


def test_a_nonsensical_search_is_refused():
    with pytest.raises(UserError, match="starts >= 1"):
        search([double_well, double_well], torch.zeros(1), 0.1, starts=0)


def test_a_loss_that_cannot_be_vectorized_is_named():
    def branching(s):
        return s.square().sum() if s.sum().item() > 0 else 2 * s.square().sum()

    with pytest.raises(UserError, match="vectorized"):
        search([branching, double_well], torch.zeros(1), 0.1)
