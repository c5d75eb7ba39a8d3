"""The methods of the benchmark: in which direction a step goes, and what is searched.

``direction(risk, weights, options)`` takes the risk of the training split, weights ``[S, P, M]`` and the
options of each model, ``[M]`` by name, and returns ``[S, P, M]``. The search ranges are the authors'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ilc.aggregators import Aggregator, JointAggregator, Weighting
from ilc.errors import UserError
from lab.experiments.linear_unit_tests.risks import Risk

Options = Mapping[str, Tensor]
Direction = Callable[[Risk, Tensor, Options], Tensor]


@dataclass(frozen=True)
class Search:
    """An option: its default, and the range of random draws, ``10 ** u`` or ``1 - 10 ** u`` or plain ``u``.

    Attributes:
        default: what the first draw has.
        low: of u.
        high: of u.
        scale: ``log``, ``one_minus_log`` or ``linear``.
    """

    default: float
    low: float
    high: float
    scale: str = "log"

    def at(self, u: float) -> float:
        """The option's value for a u between low and high."""
        return {"log": 10**u, "one_minus_log": 1 - 10**u, "linear": u}[self.scale]


@dataclass(frozen=True)
class Method:
    """How one of the benchmark's methods trains.

    Attributes:
        direction: see above.
        options: what is searched, in the order in which the authors draw it.
        adam: Adam, or else plain steps.
        decoupled: weight decay as an update of its own, or else as a part of the gradient.
        shuffled: trained on data whose spurious features say nothing.
    """

    direction: Direction
    options: Mapping[str, Search]
    adam: bool = True
    decoupled: bool = False
    shuffled: bool = False


def plain(risk: Risk, weights: Tensor, options: Options) -> Tensor:
    """The mean gradient."""
    return risk.at(weights).gradients.mean(1)


def irm_penalty(risk: Risk, weights: Tensor, options: Options) -> Tensor:
    """IRMv1 in the benchmark's form: ``(1 - lambda) mean R_e + lambda sum_e |dR_e/d(a, b)|^2``.

    The outputs are ``a f + b`` at a = 1 and b = 0: beside IRM's own scale there is a shift, and the penalties
    are summed, not averaged. Of a linear model, dR/da is ``w . g`` and dR/db the gradient of the bias.
    """
    here = risk.at(weights)
    gradients = here.gradients
    scale = (gradients * weights[:, None]).sum(2, keepdim=True)
    directions = scale * weights[:, None]
    directions[:, :, -1:] += gradients[:, :, -1:]
    penalty = 2 * (here.hessian_products(directions) + scale * gradients)
    weight = options["irm_lambda"]
    return (1 - weight) * gradients.mean(1) + weight * penalty.sum(1)


def iga(risk: Risk, weights: Tensor, options: Options) -> Tensor:
    """``mean R_e + penalty * sum_e |g_e - mean g|^2`` (Koyama and Yamaguchi, arXiv 2008.01883).

    The mean's own derivative drops out, because the differences add up to zero.
    """
    here = risk.at(weights)
    gradients = here.gradients
    mean = gradients.mean(1, keepdim=True)
    spread = 2 * here.hessian_products(gradients - mean)
    return mean[:, 0] + options["penalty"] * spread.sum(1)


def and_mask_published(risk: Risk, weights: Tensor, options: Options) -> Tensor:
    """The benchmark's AND-mask: gradients of length 1 (but for the bias), ``|sum of signs| > tau E``."""
    gradients = risk.at(weights).gradients
    features = gradients[:, :, :-1]
    gradients = torch.cat([features / features.norm(dim=2, keepdim=True), gradients[:, :, -1:]], 2)
    votes = gradients.sign().sum(1).abs()
    return gradients.mean(1) * (votes > gradients.shape[1] * options["tau"])


def by_aggregator(aggregator: Aggregator) -> Direction:
    """An aggregator that combines each component by itself, or weighs environments.

    Raises:
        UserError: one that looks at more than gradients and risks.
    """
    if isinstance(aggregator, Weighting):
        return by_weights(aggregator)
    if isinstance(aggregator, JointAggregator):
        raise UserError(f"linear unit tests cannot do {type(aggregator).__name__} with method=null")

    def direction(risk: Risk, weights: Tensor, options: Options) -> Tensor:
        return aggregator(risk.at(weights).gradients.transpose(0, 1))

    return direction


def by_weights(aggregator: Weighting) -> Direction:
    """Weights on environments, of all models at once where the aggregator can do so."""

    def direction(risk: Risk, weights: Tensor, options: Options) -> Tensor:
        here = risk.at(weights)
        rows = here.gradients.permute(0, 3, 1, 2)
        gram = rows @ rows.mT if aggregator.needs_rows else None
        on_environments = aggregator.weights(here.risks.transpose(1, 2), gram)
        return (on_environments[..., None] * rows).sum(2).mT

    return direction


ADAM = {"lr": Search(1e-3, -4, -2), "weight_decay": Search(0.0, -6, -2)}
"""What is searched of every method that steps with Adam."""

METHODS = {
    "plain": Method(plain, ADAM),
    "irm_penalty": Method(irm_penalty, {**ADAM, "irm_lambda": Search(0.9, -3, -0.3, "one_minus_log")}),
    "iga": Method(iga, {**ADAM, "penalty": Search(1000.0, 1, 5)}),
    "and_mask_published": Method(
        and_mask_published,
        {
            "lr": Search(1e-3, -4, 0),
            "weight_decay": Search(0.0, -5, 0),
            "tau": Search(0.9, 0.8, 1.0, "linear"),
        },
        adam=False,
        decoupled=True,
    ),
    "oracle": Method(plain, ADAM, shuffled=True),
}
"""The benchmark's own, by the name used in configs."""


def method_of(name: str | None, aggregator: Aggregator) -> Method:
    """The method of that name, or the aggregator with Adam and a weight decay that no mask touches."""
    return METHODS[name] if name is not None else Method(by_aggregator(aggregator), ADAM, decoupled=True)
