"""The uses of parameters for which no layer has a rule, watched in one backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node

from ilc.gradients._example_terms.operand_terms import Gradients
from ilc.gradients._example_terms.parameter_uses import Use
from ilc.gradients._example_terms.terms import ExampleTerms, RankOneTerms
from ilc.gradients._example_terms.use_terms import added, has_rule, terms_of_use

Collect = Callable[[str, ExampleTerms | RankOneTerms], None]


class WatchedUses:
    """What the backward pass has brought to each use so far.

    Attributes:
        edges: where the backward pass ends, beside the starts of the layers. The caller asks autograd for
            the gradients at these edges, and gives them to ``finish``.
    """

    def __init__(
        self, uses: dict[str, list[Use]], parameters: dict[str, nn.Parameter], n: int, collect: Collect
    ):
        self._uses, self._parameters, self._n, self._collect = uses, parameters, n, collect
        self._parts: dict[str, list[ExampleTerms | RankOneTerms]] = {name: [] for name in uses}
        self._by_node: dict[Node, list[tuple[str, Use]]] = {}
        for name, every in uses.items():
            for use in every:
                self._by_node.setdefault(use.node, []).append((name, use))
        ends = {node: every[0][1] for node, every in self._by_node.items() if every[0][1].bottom}
        self.edges = [GradientEdge(node, i) for node, use in ends.items() for i in range(len(use.axes))]
        self._hooked = [node for node in self._by_node if node not in ends]
        self._later: dict[Node, Gradients] = {}
        self._without_rule = {
            node for node, every in self._by_node.items() if not all(has_rule(use) for _, use in every)
        }

    @property
    def needs_graph(self) -> bool:
        """Whether ``finish`` needs the graph of the pass."""
        return bool(self._without_rule)

    @contextmanager
    def hooked(self) -> Iterator[None]:
        """Let a backward pass bring its gradients to the uses."""
        handles = [node.register_prehook(partial(self._reached, node)) for node in self._hooked]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def finish(self, at_edges: Sequence[Tensor | None]) -> None:
        """Take the gradients at the edges. A use that the risk does not reach adds nothing."""
        for edge, gradient in zip(self.edges, at_edges, strict=True):
            self._later[edge.node] = (*self._later.get(edge.node, ()), gradient)
        for node, gradients in self._later.items():
            self._note(node, gradients)
        for name in list(self._parts):
            if self._parts[name]:
                self._emit(name)

    def _reached(self, node: Node, gradients: Gradients) -> None:
        # During a pass autograd computes only what the pass needs, so an operation's own step has to wait.
        if node in self._without_rule:
            self._later[node] = gradients
        else:
            self._note(node, gradients)

    def _note(self, node: Node, gradients: Gradients) -> None:
        device = next((gradient.device for gradient in gradients if gradient is not None), None)
        if device is None:
            return
        with torch.autocast(device.type, enabled=False):
            for name, use in self._by_node[node]:
                several = len(self._uses[name]) > 1
                self._parts[name].append(
                    terms_of_use(use, self._parameters[name], gradients, self._n, several)
                )
                if len(self._parts[name]) == len(self._uses[name]):
                    self._emit(name)

    def _emit(self, name: str) -> None:
        parts = self._parts.pop(name)
        whole = [part for part in parts if isinstance(part, ExampleTerms)]
        self._collect(name, parts[0] if len(parts) == 1 else added(whole))
