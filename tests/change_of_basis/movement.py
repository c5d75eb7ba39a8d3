"""How far the update of ``B A`` moves when the same product is written with other factors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor, optim
from torch.nn import functional as F

from change_of_basis.layer import LowRankLayer, batch, change_of_basis, layer, rotation
from ilc.aggregators import Aggregator, AndMask, GramAgreement, LayerAgreement, Mean, SandMask
from ilc.gradients import backward
from ilc.lora import product_basis

AGGREGATORS: dict[str, Callable[[], Aggregator]] = {
    "plain training": Mean,
    "AND-mask, threshold .5": lambda: AndMask(0.5),
    "AND-mask, threshold 1": lambda: AndMask(1.0),
    "SAND-mask": SandMask,
    "`LayerAgreement`, threshold 1": lambda: LayerAgreement(1.0),
    "`GramAgreement`, threshold 1": lambda: GramAgreement(1.0),
}
BASES: dict[str, Callable[[int], Tensor]] = {
    "R a rotation": rotation,
    "R invertible, condition 10": change_of_basis,
}
IN_BASIS = ", in `product_basis`"
N_BASES = 20

Step = Callable[[LowRankLayer], None]


def stepped(name: str, adam: bool = False, n_steps: int = 1) -> Step:
    """Steps of SGD or Adam on one batch; the name is one of ``AGGREGATORS``, also with ``IN_BASIS``."""
    inputs, targets = batch()
    in_basis = product_basis if name.endswith(IN_BASIS) else lambda _: nullcontext()
    make = AGGREGATORS[name.removesuffix(IN_BASIS)]

    def step(model: LowRankLayer) -> None:
        parameters = list(model.parameters())
        optimizer = optim.Adam(parameters, 1e-3) if adam else optim.SGD(parameters, 1e-3, momentum=0.9)
        aggregator = make()
        for _ in range(n_steps):
            with in_basis(model):
                backward(model, F.mse_loss, inputs, targets, aggregator)
            optimizer.step()

    return step


def change(model: LowRankLayer, step: Step) -> Tensor:
    """What the step adds to the product."""
    before = model.product
    step(model)
    return model.product - before


def movements(start: LowRankLayer, step: Step, bases: list[Tensor]) -> list[float]:
    """For each R, the distance of the update from that with the first factors, as a share of its length."""
    own = change(start.with_factors(torch.eye(len(bases[0]), dtype=torch.float64)), step)
    assert own.norm() > 0, "a model that stays where it is shows nothing"
    return [float((change(start.with_factors(basis), step) - own).norm() / own.norm()) for basis in bases]


ROWS: dict[str, Step] = {
    **{name: stepped(name) for name in AGGREGATORS},
    "plain training with Adam": stepped("plain training", adam=True),
    **{name + IN_BASIS: stepped(name + IN_BASIS) for name in list(AGGREGATORS)[:4]},
    f"AND-mask, threshold 1{IN_BASIS}, with Adam": stepped(f"AND-mask, threshold 1{IN_BASIS}", adam=True),
}


def row(name: str, n_bases: int = N_BASES) -> dict[str, float]:
    """The mean movement over so many R of each kind."""
    found = {}
    for kind, make in BASES.items():
        every = movements(layer(), ROWS[name], [make(seed) for seed in range(n_bases)])
        found[kind] = sum(every) / len(every)
    return found
