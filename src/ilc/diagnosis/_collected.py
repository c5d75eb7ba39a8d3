"""The gradients at the chosen components, as a pass brings them parameter by parameter."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ilc._precision import widened
from ilc.diagnosis._components import Chosen
from ilc.gradients._example_terms.terms import ExampleTerms, RankOneTerms

Note = Callable[[str, Tensor], None]
"""Takes a parameter's name, and its gradients ``[E, C]`` at the chosen components."""


class Collected:
    """Takes terms, or gradients of backward passes of their own, and notes their chosen components.

    Args:
        parameters: those that are diagnosed, by name.
        chosen: draws the components.
        note: takes what was collected.
        n: E, the number of environments or examples.
    """

    def __init__(self, parameters: dict[str, nn.Parameter], chosen: Chosen, note: Note, n: int) -> None:
        self._parameters, self._chosen, self._note, self._n = parameters, chosen, note, n
        self._missing = dict.fromkeys(parameters)
        self._passes: dict[str, _Stacked] = {}

    def terms(self, name: str, terms: ExampleTerms | RankOneTerms) -> None:
        """Take the terms of a parameter."""
        self.rows(name, self._chosen.of_terms(terms, self._parameters[name], self._n))

    def rows(self, name: str, votes: Tensor) -> None:
        """Take the gradients ``[E, C]`` of a parameter."""
        self._missing.pop(name)
        self._note(name, votes)

    def passes(self, name: str, p: Tensor) -> _Stacked:
        """What takes the gradients of a parameter that has a backward pass for each example."""
        self._passes[name] = _Stacked(self._chosen.every(p.numel()))
        return self._passes[name]

    def end(self) -> None:
        """Note what came in backward passes, and zeros for parameters that no risk reaches."""
        for name, each in self._passes.items():
            self.rows(name, torch.cat(each.found))
        for name in list(self._missing):
            p = self._parameters[name]
            self.rows(name, self._chosen.of_rows(widened(p.new_zeros(1, 1)).expand(self._n, p.numel())))


class _Stacked:
    """The chosen components of gradients that come a few examples at a time."""

    def __init__(self, columns: slice) -> None:
        self._columns, self.found = columns, list[Tensor]()

    def add_(self, gradients: Tensor, /) -> None:
        """Keep the chosen components of ``[k, *shape]``."""
        self.found.append(widened(gradients.flatten(1)[:, self._columns]).clone())
