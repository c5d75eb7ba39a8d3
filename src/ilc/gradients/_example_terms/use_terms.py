"""Each example's term of a parameter's gradient, from one operation that uses the parameter.

The rules go by operations of the graph, not by modules. So a linear layer is one under any name, and the
scale of a norm is a product with the normalised input, whichever class computes it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ilc.gradients._example_terms.operand_terms import (
    Gradients,
    by_example,
    has_operand_rule,
    operand_terms,
    saved,
)
from ilc.gradients._example_terms.parameter_uses import Use
from ilc.gradients._example_terms.rules import products
from ilc.gradients._example_terms.terms import ExampleTerms, RankOneTerms, undivided


def terms_of_use(
    use: Use, p: nn.Parameter, gradients: Gradients, n: int, several: bool
) -> ExampleTerms | RankOneTerms:
    """The terms ``[n, *p.shape]`` from one use, given the gradients of the outputs of its operation.

    ``several`` says that the parameter has other uses, so that the terms have to be added to others.
    """
    made, delta = _how_made(use, p), gradients[0]
    if delta is not None and _multiplies(use):
        alpha = getattr(use.node, "_saved_alpha", 1)
        x = by_example(saved(use, _LEFT_FACTORS[use.kind]), use, n)
        delta = by_example(delta if alpha == 1 else delta * alpha, use, n)
        left, right = (x, delta) if made == "transposed" else (delta, x)
        if x.shape[1] == 1 and made != "otherwise" and not several:
            return RankOneTerms(right[:, 0], left[:, 0])
        terms = products(left, right)
        return _through(use, p, terms) if made == "otherwise" else terms
    terms = operand_terms(use, gradients, n)
    return terms if made == "the same" else _through(use, p, terms)


def has_rule(use: Use) -> bool:
    """Whether the terms need no backward step of the operation itself, one for each example."""
    return _multiplies(use) or has_operand_rule(use)


def added(parts: list[ExampleTerms]) -> ExampleTerms:
    """The terms of a parameter that is used several times: their sums, example by example."""
    rows = {part.n_rows for part in parts}
    by_rows = len(rows) == 1

    def of(s: slice) -> Callable[[slice, Tensor], Tensor]:
        first, *others = [part.of(s) for part in parts]
        every = [slice(0, part.n_rows) for part in parts]

        def of_rows(rows: slice, scratch: Tensor) -> Tensor:
            total = first(rows if by_rows else every[0], scratch)
            for other, whole in zip(others, every[1:], strict=True):
                total = total + other(rows if by_rows else whole, scratch[:0])
            return total

        return of_rows

    return ExampleTerms(of, rows.pop() if by_rows else 1, extra=sum(part.extra for part in parts))


_LEFT_FACTORS = {("MmBackward0", 1): "_saved_self", ("AddmmBackward0", 2): "_saved_mat1"}
"""Products ``x @ w`` of matrices, with the name under which autograd keeps ``x``."""


def _multiplies(use: Use) -> bool:
    return use.kind in _LEFT_FACTORS and use.axis == 0


def _how_made(use: Use, p: nn.Parameter) -> str:
    """Whether the operand is the parameter, the transposed one, or made of it in another way."""
    transposed, node = False, use.made_by.node
    while getattr(node, "variable", None) is not p:
        following = node.next_functions
        if node.name() not in ("TBackward0", "ToCopyBackward0") or following[0][0] is None:
            return "otherwise"
        transposed ^= node.name() == "TBackward0"
        node = following[0][0]
    return "transposed" if transposed else "the same"


def _through(use: Use, p: nn.Parameter, terms: ExampleTerms) -> ExampleTerms:
    """Take the terms of the operand back to the parameter that it is made of."""

    def of(s: slice) -> Tensor:
        votes = terms.of(s)(slice(0, terms.n_rows), p.new_empty(0)).to(use.dtype)
        return torch.stack(
            [
                torch.autograd.grad([use.made_by], [p], [vote.reshape(use.shape)], retain_graph=True)[0]
                for vote in votes
            ]
        )

    return undivided(of, terms.extra)
