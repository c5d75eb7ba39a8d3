"""Each BatchNorm in training mode with the layer below it, whose votes depend on the batch statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge
from torch.utils.hooks import RemovableHandle

from ilc._precision import widened
from ilc.errors import UserError
from ilc.gradients._example_terms.batch_norm import BatchNormRecord, TrackedBatchNorm, normalises_by_batch
from ilc.gradients._example_terms.batch_norm_correction import BatchNormCorrection
from ilc.gradients._example_terms.own_parameters import has_its_own, own_parameters
from ilc.gradients._example_terms.rules import BELOW_BATCH_NORM, RULES
from ilc.gradients._example_terms.terms import ExampleTerms, undivided
from ilc.gradients._example_terms.used_elsewhere import Detours, note_detour

_REMEDY = (
    "use gradients='per_example_loss' (exact, but one backward pass per example), use 'per_example_share' "
    "(one pass, but the votes are defined differently), or replace BatchNorm by GroupNorm, which does not "
    "mix examples"
)

Collect = Callable[[nn.Module, BatchNormRecord], None]


@contextmanager
def track_batch_norms(
    model: nn.Module, collect: Collect, starts: list[GradientEdge]
) -> Iterator[TrackedBatchNorms]:
    """Track every BatchNorm in training mode during one forward pass and its two backward passes.

    The second backward pass is the local one. In it ``collect(layer, record)`` gets what each BatchNorm saw.

    A BatchNorm on data needs no tracking, because nothing below it is trained. ``starts`` gets the parameters
    of such a BatchNorm.

    Raises:
        UserError: a BatchNorm is of an unknown kind or is used twice, or its input is not the very output of
            a layer of ``BELOW_BATCH_NORM``.
    """
    tracked = TrackedBatchNorms(model, collect, starts)
    try:
        yield tracked
    finally:
        tracked.forget()
        tracked.end()


class TrackedBatchNorms:
    """The BatchNorms of one pass, and for each layer that feeds one, which BatchNorm that is.

    Attributes:
        detours: the ways around these BatchNorms.
    """

    def __init__(self, model: nn.Module, collect: Collect, starts: list[GradientEdge]) -> None:
        self._model, self._collect = model, collect
        self._starts = starts
        self._names = {
            layer: f"{name or 'the model'} ({type(layer).__name__})" for name, layer in model.named_modules()
        }
        self._own: dict[nn.Module, dict[str, Tensor | None]] = {}
        self._called: set[nn.Module] = set()
        self.detours: Detours = {}
        self._layer_of_node: dict[Node, nn.Module] = {}
        self._all: list[TrackedBatchNorm] = []
        self._fed_by: dict[nn.Module, TrackedBatchNorm] = {}
        self._handles: list[RemovableHandle] = []
        for layer in model.modules():
            if type(layer) in BELOW_BATCH_NORM:
                self._handles.append(layer.register_forward_hook(self.note_output, prepend=True))
            elif normalises_by_batch(layer):
                self._own[layer] = own_parameters(layer)
                self._handles.append(layer.register_forward_hook(self.replace_output, prepend=True))

    def end(self) -> None:
        """End the watch over forward passes."""
        for handle in self._handles:
            handle.remove()

    def check_followed(self, followed: set[str]) -> None:
        """Raise UserError unless each BatchNorm, and each layer that feeds one, is among the followed ones.

        Args:
            followed: the names of the parameters whose layer is used once, and not elsewhere.
        """
        for path, layer in self._model.named_modules():
            if layer not in self._fed_by and layer not in self._called:
                continue
            for key, p in layer.named_parameters():
                if p.requires_grad and f"{path}.{key}".lstrip(".") not in followed:
                    raise UserError(
                        f"the batch statistics around {self._names[layer]} cannot be followed, because the "
                        f"model uses {key} elsewhere too: {_REMEDY}"
                    )

    def note_output(self, layer: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
        """Forward hook of a layer that may feed a BatchNorm: note the graph node of its output.

        If the network changes the output in place, the output gets another node and is no longer found.
        """
        if output.grad_fn is not None:
            self._layer_of_node[output.grad_fn] = layer

    def replace_output(
        self, layer: nn.Module, arguments: tuple[Tensor, ...], output: Tensor
    ) -> Tensor | None:
        """Forward hook of a BatchNorm: give its output a backward pass that can be switched."""
        if layer in self._called:
            raise UserError(
                f"the batch statistics of {self._names[layer]} cannot be followed, as it is used twice in "
                f"one pass: {_REMEDY}"
            )
        if not has_its_own(layer, self._own[layer]):
            raise UserError(
                f"the batch statistics of {self._names[layer]} cannot be followed, as functional_call lends "
                f"it other parameters than its own: {_REMEDY}"
            )
        self._called.add(layer)
        x = arguments[0]
        if not output.requires_grad:
            return None
        if type(layer) not in RULES:
            raise UserError(
                f"per_example has no rule for the batch statistics of {self._names[layer]}: {_REMEDY}"
            )
        one = TrackedBatchNorm(layer, x, output, lambda record: self._collect(layer, record))
        if x.requires_grad:
            self._fed_by[self._feeder_of(layer, x)] = one
        else:
            self._starts.extend(get_gradient_edge(p) for p in layer.parameters() if p.requires_grad)
        self._all.append(one)
        replaced = one.replacing(layer, x)
        note_detour(self.detours, x, replaced)
        return replaced

    def _feeder_of(self, layer: nn.Module, x: Tensor) -> nn.Module:
        """The layer whose output is the input ``x`` of this BatchNorm."""
        feeder = self._layer_of_node.get(x.grad_fn) if x.grad_fn is not None else None
        if feeder is None or (type(feeder) is nn.Linear and x.ndim != 2):
            kinds = ", ".join(kind.__name__ for kind in BELOW_BATCH_NORM)
            raise UserError(
                f"per_example cannot follow the batch statistics of {self._names[layer]}, because its input "
                f"is not the unchanged output of one of {kinds} with the same channels: {_REMEDY}"
            )
        if feeder in self._fed_by:
            name = self._names[feeder]
            raise UserError(
                f"{name} feeds two BatchNorms, but per_example can follow the batch statistics of only one: "
                f"{_REMEDY}"
            )
        return feeder

    def start_local_pass(self) -> None:
        """Switch every BatchNorm to the local backward pass.

        From now on it hands down only the derivative of an example's risk with respect to the example's own
        rows.
        """
        for one in self._all:
            one.local = True

    def votes(
        self, layer: nn.Module, x: Tensor, delta: Tensor
    ) -> tuple[dict[str, ExampleTerms], BatchNormCorrection] | None:
        """The terms of a layer that feeds a BatchNorm, and the correction of the terms of its weight.

        None if the layer feeds no BatchNorm that the risk reaches. ``delta`` is the gradient with respect to
        the layer's output. It usually comes from the BatchNorm only.
        """
        one = self._fed_by.get(layer)
        if one is None or one.record is None:
            return None
        record, one.record = one.record, None
        rule = BELOW_BATCH_NORM[type(layer)]
        if delta is record.passed:  # The output goes to the BatchNorm only.
            own, ones, normed, scale = record.own, record.ones, record.normed, record.scale
        else:
            # The output also goes elsewhere, and the gradient from there has no factor ``scale``. So the
            # factor is applied here and the correction gets a scale of one.
            by_channel = [1, -1] + [1] * (delta.ndim - 2)
            own = record.own * record.scale.view(by_channel) + (delta - record.passed)
            ones, normed = record.ones * record.scale, record.normed * record.scale
            scale = record.scale.new_ones(()).expand_as(record.scale)
        terms = dict(rule.terms(layer, x, own))
        # BatchNorm subtracts a shift of the layer's output again. So the bias gets only what goes elsewhere.
        terms["bias"] = undivided(
            lambda s: (delta[s] - record.passed[s]).reshape(*delta[s].shape[:2], -1).sum(2)
        )

        def of_ones() -> Tensor:
            one_example = widened(x).sum(0, keepdim=True)
            return rule.gradient(layer, one_example, own.new_ones(1, *own.shape[1:]))

        def of_normed() -> Tensor:
            return rule.gradient(layer, x, record.normalised)

        arrange = terms["weight"].arrange
        return terms, BatchNormCorrection(ones, normed, scale, of_ones, of_normed, arrange)

    def forget(self) -> None:
        """Release the graph, whose hooks hold on to this object."""
        self._layer_of_node.clear()
        self.detours.clear()
        self._all.clear()
        self._fed_by.clear()
