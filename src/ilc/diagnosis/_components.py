"""Which components of a parameter are looked at, and the gradients of all environments there."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ilc._precision import widened
from ilc.gradients._example_terms.terms import ExampleTerms, RankOneTerms

# Numbers that are held at once while the chosen ones are taken out of them.
_NUMBERS_AT_ONCE = 2**22


class Chosen:
    """Draws at most so many components of each parameter; None is all of them.

    The gradients of the chosen components are held for all environments at once, in memory
    ``E * components`` for one parameter after another.
    """

    def __init__(self, components: int | None, seed: int) -> None:
        self._most = components
        self._generator = torch.Generator().manual_seed(seed)

    def of_rows(self, gradients: Tensor) -> Tensor:
        """The chosen columns of gradients ``[E, *shape]``, ``[E, C]``."""
        flat = gradients.flatten(1)
        return flat[:, self.every(flat.shape[1])]

    def of_terms(self, terms: ExampleTerms | RankOneTerms, parameter: Tensor, n: int) -> Tensor:
        """The chosen components of the terms of ``n`` examples, ``[n, C]``."""
        size = parameter.numel()
        if isinstance(terms, RankOneTerms):
            return widened(self._of_products(terms, size))
        if terms.n_rows == 1:
            step = self.every(size)
            return self._in_parts(terms, parameter, n, slice(0, 1), lambda votes: votes[:, step])
        row = size // terms.n_rows
        rows = self.every(terms.n_rows, None if self._most is None else math.ceil(self._most / row))
        return self._in_parts(terms, parameter, n, rows, lambda votes: votes)

    def every(self, n: int, most: int | None = None) -> slice:
        """Every k-th of n places, from a random one of the first k."""
        most = self._most if most is None else most
        step = 1 if most is None else math.ceil(n / most)
        return slice(int(torch.randint(max(1, step), (), generator=self._generator)), None, max(1, step))

    def _of_products(self, terms: RankOneTerms, size: int) -> Tensor:
        delta, x = terms.delta, terms.x
        if self._most is None or size <= self._most:
            return (delta[:, :, None] * x[:, None]).flatten(1)
        index = torch.randint(size, (self._most,), generator=self._generator).to(x.device)
        return delta[:, index // x.shape[1]] * x[:, index % x.shape[1]]

    @staticmethod
    def _in_parts(
        terms: ExampleTerms, parameter: Tensor, n: int, rows: slice, take: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """The rows of all examples, for a few examples at a time: a term may be made as a whole."""
        row = parameter.numel() // terms.n_rows
        numbers = row * len(range(*rows.indices(terms.n_rows))) + terms.extra
        few, scratch = max(1, _NUMBERS_AT_ONCE // max(1, numbers)), parameter.new_empty(0)
        parts = [terms.of(slice(start, start + few))(rows, scratch) for start in range(0, n, few)]
        return torch.cat([take(widened(votes).flatten(1)) for votes in parts])
