"""The basis of the product: a block inside which LoRA's factors are those that the product defines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ilc.errors import UserError
from ilc.lora._directions import directions
from ilc.lora._pairs import Pair, pairs_of


@contextmanager
def product_basis(model: nn.Module, pairs: Iterable[tuple[str, str]] | None = None) -> Iterator[None]:
    """Let environments vote on directions of LoRA's product, not on components of its two factors.

    The product ``B A`` has singular vectors. Inside the block, ``A`` is the right ones, as orthonormal rows,
    and ``B`` is the rest, so that the product and the outputs of the model are the same up to rounding. Every
    aggregator, in every way of ``gradients=``, then votes on ``U^T G_e`` and ``G_e V``, where ``G_e`` is the
    gradient of environment e with respect to the product, and ``U`` and ``V`` hold its singular vectors. At
    the end of the block the factors are again the tensors that they were, and ``.grad`` is written for them.

    Then a step of SGD, with or without momentum, changes ``B A`` in the same way for all factors of the same
    product. Adam divides each component by its own size and so depends on the factors, with and without a
    mask. For a mean, the step is that of plain LoRA whose ``A`` has orthonormal rows. Where the product does
    not determine its singular vectors, as while ``B`` is zero, the row space of ``A`` and the order of the
    inputs do. ``A`` needs r independent rows. For the embeddings of ``peft``, which start with ``A`` zero,
    ``A`` and ``B`` change their roles. The cost is some decompositions of r columns for each module.

    A pair with a value that is not finite keeps its factors, so that the gradient shows it. Losses have to be
    computed inside the block. Several processes compute the same basis, each for itself.

    Args:
        model: has LoRA modules. Other parameters keep their components.
        pairs: names of parameters ``(A, B)``, ``A`` ``[r, d_in, ...]`` and ``B`` ``[d_out, r, ...]``. None
            finds those that are called ``lora_A`` and ``lora_B``, as in ``peft``.

    Raises:
        UserError: there is no pair, a pair is not as above, is frozen in part or of half precision, ``A`` has
            dependent rows, a parameter has changed inside the block, or ``.grad`` was added to and not
            overwritten.
    """
    found = (_change(pair) for pair in pairs_of(model, pairs))
    changes = [one for one in found if one is not None]
    before = [(p, p.data, p.grad, _version(p.grad)) for one in changes for p in one.pair_of_parameters]
    given = [value.clone() for one in changes for value in (one.inner, one.outer)]
    try:
        for one in changes:
            one.pair.inner.data, one.pair.outer.data = one.inner, one.outer
        yield
        moved = any(not torch.equal(p, value) for (p, *_), value in zip(before, given, strict=True))
    finally:
        for p, values, _, _ in before:
            p.data = values
        fresh = {p for p, _, gradient, _ in before if p.grad is not gradient}
        for one in changes:
            one.put_back(fresh)
    if moved:
        raise UserError(
            "parameters have changed inside product_basis, which puts them back at its end, so the change "
            "would be lost: make the optimizer's step, and load a state, after the block"
        )
    for p, _, gradient, version in before:
        _check_not_added_to(p, gradient, version)


class _Change(NamedTuple):
    """A pair in the basis of its product.

    Attributes:
        pair: the parameters.
        basis: the matrix R ``[r, r]``, where A is R times the new A, in double precision.
        inner: the new values of ``pair.inner``.
        outer: the new values of ``pair.outer``.
    """

    pair: Pair
    basis: Tensor
    inner: Tensor
    outer: Tensor

    @property
    def pair_of_parameters(self) -> tuple[nn.Parameter, nn.Parameter]:
        return self.pair.inner, self.pair.outer

    def put_back(self, fresh: set[nn.Parameter]) -> None:
        """Write the gradients that the block has made for the parameters as they were before it."""
        pair = self.pair
        for p in self.pair_of_parameters:
            if p not in fresh or p.grad is None:
                continue
            gradient = pair.matrix(p.grad)
            if p is pair.inner:
                gradient = self.basis @ gradient
            else:
                gradient = torch.linalg.solve(self.basis, gradient, left=False)
            p.grad.copy_(pair.values(gradient, p.grad))


def _change(pair: Pair) -> _Change | None:
    """The pair in the basis of its product; None if it is not finite, which the gradient then shows."""
    inner, outer = pair.matrix(pair.inner), pair.matrix(pair.outer)
    precision = torch.finfo(pair.inner.dtype).eps
    if not bool((inner.isfinite().all() & outer.isfinite().all()).item()):
        return None
    if len(inner) <= inner.shape[1]:
        found = directions(inner, outer, precision**0.5)
        basis = inner @ found
        sizes = torch.linalg.svdvals(basis)
        if sizes[-1] > sizes[0] * precision * inner.shape[1]:
            return _Change(
                pair, basis, pair.values(found.T, pair.inner), pair.values(outer @ basis, pair.outer)
            )
    raise UserError(
        f"{pair.inner_name} has r = {len(inner)} rows of length {inner.shape[1]} that are not independent, "
        "so its product has fewer directions than r: start it at random, with B at zero, and take r no "
        "larger than the sizes of the layer. If it was so started, training diverges: lower the learning rate"
    )


def _version(gradient: Tensor | None) -> int:
    return -1 if gradient is None else gradient._version


def _check_not_added_to(p: nn.Parameter, before: Tensor | None, version: int) -> None:
    if p.grad is before and _version(before) != version:
        raise UserError(
            "inside product_basis a gradient was added to one from before, which belongs to other factors: "
            "call optimizer.zero_grad() before the block, or collect micro-batches with ilc.accumulate in it"
        )
