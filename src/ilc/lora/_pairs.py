"""The factors of LoRA modules: which parameters of a model belong together, as matrices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor, nn

from ilc._precision import is_narrow
from ilc.errors import UserError

_FIRST = re.compile(r"(.*lora_(?:embedding_)?)([Aa])\b(.*)")
_EMBEDDING = "lora_embedding_"


@dataclass(frozen=True)
class Pair:
    """Two parameters whose product is added to a weight.

    Attributes:
        inner_name: the name of the parameter of ``inner``.
        inner: its values are a matrix ``[r, m]``, which gets orthonormal rows.
        outer_name: the name of the parameter of ``outer``.
        outer: its values are a matrix ``[n, r]``.
        transposed: whether both parameters are the transposes of these matrices.
    """

    inner_name: str
    inner: nn.Parameter
    outer_name: str
    outer: nn.Parameter
    transposed: bool = False

    def matrix(self, values: Tensor) -> Tensor:
        """Values in the shape of one of the parameters, as a matrix in double precision."""
        matrix = values.detach().double().flatten(1)
        return matrix.T if self.transposed else matrix

    def values(self, matrix: Tensor, like: Tensor) -> Tensor:
        """A matrix as values in the shape, the memory format and the type of ``like``."""
        return torch.empty_like(like).copy_((matrix.T if self.transposed else matrix).reshape(like.shape))


def pairs_of(model: nn.Module, names: Iterable[tuple[str, str]] | None) -> list[Pair]:
    """The pairs with these names, or all that are called as in ``peft``; those that are frozen are left out.

    Raises:
        UserError: there is no such pair, or a pair is not what it has to be.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))
    named = _found(parameters) if names is None else [_checked(parameters, pair) for pair in names]
    # A module that stands in two places has one pair with two names.
    chosen = {frozenset(id(parameters[name]) for name in pair): pair for pair in reversed(named)}
    if names is not None and len(chosen) < len(named):
        raise UserError(f"{named[-1][0]} stands in two pairs: name every parameter once")
    owners = Counter(id(parameters[name]) for name in chain.from_iterable(chosen.values()))
    pairs = []
    for first, second in reversed(chosen.values()):
        a, b = parameters[first], parameters[second]
        if not a.requires_grad and not b.requires_grad:
            continue
        if max(owners[id(a)], owners[id(b)]) > 1:
            raise UserError(
                f"{first if owners[id(a)] > 1 else second} stands in two pairs, and each would need another "
                "basis: give every pair factors of its own, or leave product_basis out"
            )
        _check(first, a, second, b)
        # An embedding of peft starts with A = 0 and a random B. The random factor spans the directions.
        swapped = _EMBEDDING in first
        pairs.append(Pair(second, b, first, a, transposed=True) if swapped else Pair(first, a, second, b))
    if not pairs:
        raise UserError(
            "the model has no trainable LoRA module: call peft.get_peft_model before, or name the factors, "
            "as in product_basis(model, [('layer.A', 'layer.B')])"
        )
    return pairs


def _found(parameters: dict[str, nn.Parameter]) -> list[tuple[str, str]]:
    found = []
    for name in parameters:
        match = _FIRST.fullmatch(name)
        if match is not None:
            other = match[1] + {"A": "B", "a": "b"}[match[2]] + match[3]
            between = match[1] + "E" + match[3]
            if between in parameters:
                raise UserError(
                    f"{between} stands between the factors of AdaLoRA, whose product has three of them, and "
                    "product_basis knows products of two: take LoRA, or leave product_basis out"
                )
            if other in parameters:
                found.append((name, other))
    return found


def _checked(parameters: dict[str, nn.Parameter], pair: tuple[str, str]) -> tuple[str, str]:
    if isinstance(pair, str) or len(pair) != 2:
        raise UserError(f"a pair must be the names of A and B, as in ('layer.A', 'layer.B'), got {pair!r}")
    for name in pair:
        if name not in parameters:
            raise UserError(
                f"the model has no parameter {name!r}: take the names of model.named_parameters()"
            )
    return pair


def _check(first: str, a: nn.Parameter, second: str, b: nn.Parameter) -> None:
    """Raise UserError if these two cannot be written in another basis."""
    if a.ndim < 2 or b.ndim < 2 or b.shape[1:].numel() != len(a):
        raise UserError(
            f"{first} must be [r, d_in] and {second} [d_out, r], so that the update is their product B A, "
            f"got {tuple(a.shape)} and {tuple(b.shape)}: give A first"
        )
    for name, p in ((first, a), (second, b)):
        if not p.requires_grad:
            raise UserError(
                f"{name} is frozen and its partner is not, so the factors cannot change their basis: train "
                "both, or leave product_basis out"
            )
        if is_narrow(p.dtype) or type(p.data) is not Tensor:
            kind = p.dtype if is_narrow(p.dtype) else type(p.data).__name__
            raise UserError(
                f"{name} is {kind}, and product_basis needs plain tensors of at least single precision: keep "
                "the adapter in float32, as peft does by itself, and whole on each process"
            )
        if p._post_accumulate_grad_hooks:
            raise UserError(
                f"{name} has a hook that uses the gradient as soon as it is there, which is before it is in "
                "the basis of this parameter: make the optimizer's step after the block of product_basis"
            )
