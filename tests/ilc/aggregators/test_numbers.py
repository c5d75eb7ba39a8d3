"""Options that are no numbers are named in one line; numbers of NumPy count as Python's."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from ilc.aggregators import AgreementRandom, Eqrm, GradDrop, GroupDro, Iga, SandMask, VRex
from ilc.errors import UserError

OPTIONS: dict[str, tuple[Callable[..., object], str]] = {
    "SandMask's threshold": (SandMask, "agreement_threshold"),
    "SandMask's steepness": (SandMask, "steepness"),
    "VRex": (VRex, "penalty_weight"),
    "Iga": (Iga, "penalty_weight"),
    "GroupDro": (GroupDro, "step_size"),
    "Eqrm": (Eqrm, "quantile"),
}
WRONG = ["0.5", None, True, [0.5], 0.5j, torch.tensor(0.5), torch.ones(40)]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_number(option: str, wrong: object) -> None:
    kind, name = OPTIONS[option]
    with pytest.raises(UserError, match=f"^{name} must be a number, got .* of type") as error:
        kind(**{name: wrong})
    assert "\n" not in str(error.value) and len(str(error.value)) < 200


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("wrong", [-0.5, -1, math.nan, math.inf, 10**400])
def test_what_is_out_of_range(option: str, wrong: float) -> None:
    kind, name = OPTIONS[option]
    with pytest.raises(UserError, match=f"^{name} must (be finite|lie)"):
        kind(**{name: wrong})


@pytest.mark.parametrize("option", OPTIONS)
def test_numbers_of_numpy(option: str) -> None:
    np = pytest.importorskip("numpy")
    kind, name = OPTIONS[option]
    for of in (np.float16, np.float32, np.float64):
        value = getattr(kind(**{name: of(0.8)}), name)
        assert value == 0.8 and type(value) is float


@pytest.mark.parametrize("kind", [AgreementRandom, GradDrop])
@pytest.mark.parametrize("wrong", [*WRONG, 0.0])
def test_a_seed_that_is_no_whole_number(kind: Callable[..., object], wrong: object) -> None:
    with pytest.raises(UserError, match=r"^seed must be a whole number, got .* of type"):
        kind(wrong)
