"""The methods of the benchmark: the direction of each method's steps, and the options that are searched.

``direction(risk, weights, options)`` takes the risk of the training split, weights ``[S, P, M]`` and the
options of each model, ``[M]`` by name. It returns the direction ``[S, P, M]``. The search ranges are the
authors'.
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
    """An option to search: its default, and the range of its random draws.

    A draw is ``10 ** u``, ``1 - 10 ** u`` or ``u`` for a random number u.

    Attributes:
        default: value of the first draw.
        low: smallest u.
        high: largest u.
        scale: ``log``, ``one_minus_log`` or ``linear``, for the three forms above in their order.
    """

    default: float
    low: float
    high: float
    scale: str = "log"

    def at(self, u: float) -> float:
        """Return the option's value for a u between low and high."""
        return {"log": 10**u, "one_minus_log": 1 - 10**u, "linear": u}[self.scale]


@dataclass(frozen=True)
class Method:
    """A method of the benchmark, which says how to train.

    Attributes:
        direction: function that returns the direction of a step; see the module's description.
        options: options that are searched, in the order in which the authors draw them.
        adam: whether steps are taken with Adam; otherwise they are plain gradient steps.
        decoupled: whether weight decay is a separate update; otherwise it is a part of the gradient.
        shuffled: whether the method trains on data whose spurious features say nothing about the target.
    """

    direction: Direction
    options: Mapping[str, Search]
    adam: bool = True
    decoupled: bool = False
    shuffled: bool = False


def plain(risk: Risk, weights: Tensor, options: Options) -> Tensor:
    """Return the mean gradient over the environments."""
    return risk.at(weights).gradients.mean(1)


def irm_penalty(risk: Risk, weights: Tensor, options: Options) -> Tensor:
    """Return the gradient of IRMv1 in the benchmark's form.

    The objective is ``(1 - lambda) mean R_e + lambda sum_e |dR_e/d(a, b)|^2``, with outputs ``a f + b`` at
    a = 1 and b = 0. Unlike IRM it has the shift b in addition to the scale a, and it sums the penalties and
    does not average them. For a linear model, dR/da is ``w . g`` and dR/db is the gradient of the bias.
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
    """Return the gradient of IGA's objective (Koyama and Yamaguchi, arXiv 2008.01883).

    The objective is ``mean R_e + penalty * sum_e |g_e - mean g|^2``. The derivative of ``mean g`` drops out,
    because the differences add up to zero.
    """
    here = risk.at(weights)
    gradients = here.gradients
    mean = gradients.mean(1, keepdim=True)
    spread = 2 * here.hessian_products(gradients - mean)
    return mean[:, 0] + options["penalty"] * spread.sum(1)


def and_mask_published(risk: Risk, weights: Tensor, options: Options) -> Tensor:
    """Return the direction of the benchmark's AND-mask.

    Each environment's gradient is scaled to length 1, except for the bias. A component of the mean gradient
    is kept where ``|sum of signs| > tau E``.
    """
    gradients = risk.at(weights).gradients
    features = gradients[:, :, :-1]
    gradients = torch.cat([features / features.norm(dim=2, keepdim=True), gradients[:, :, -1:]], 2)
    votes = gradients.sign().sum(1).abs()
    return gradients.mean(1) * (votes > gradients.shape[1] * options["tau"])


def by_aggregator(aggregator: Aggregator) -> Direction:
    """Return the direction of an aggregator that combines each component by itself, or weights environments.

    Raises:
        UserError: the aggregator looks at more than gradients and risks.
    """
    if isinstance(aggregator, Weighting):
        return by_weights(aggregator)
    if isinstance(aggregator, JointAggregator):
        raise UserError(
            f"linear unit tests with method=null do not support {type(aggregator).__name__}, which needs "
            "more than gradients and risks: choose another aggregator"
        )

    def direction(risk: Risk, weights: Tensor, options: Options) -> Tensor:
        return aggregator(risk.at(weights).gradients.transpose(0, 1))

    return direction


def by_weights(aggregator: Weighting) -> Direction:
    """Return the direction of an aggregator that weights environments."""

    def direction(risk: Risk, weights: Tensor, options: Options) -> Tensor:
        here = risk.at(weights)
        rows = here.gradients.permute(0, 3, 1, 2)
        gram = rows @ rows.mT if aggregator.needs_rows else None
        on_environments = aggregator.weights(here.risks.transpose(1, 2), gram)
        return (on_environments[..., None] * rows).sum(2).mT

    return direction


ADAM = {"lr": Search(1e-3, -4, -2), "weight_decay": Search(0.0, -6, -2)}
"""The options that are searched for every method that uses Adam."""

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
"""The benchmark's own methods, by the name used in configs."""


def method_of(name: str | None, aggregator: Aggregator) -> Method:
    """Return the method of that name, or, without a name, the aggregator with Adam.

    With an aggregator the weight decay is decoupled, so that no mask affects it.
    """
    return METHODS[name] if name is not None else Method(by_aggregator(aggregator), ADAM, decoupled=True)
