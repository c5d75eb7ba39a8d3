"""Each BatchNorm in training mode, and the layer below it, into which its statistics are followed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge
from torch.utils.hooks import RemovableHandle

from ilc._precision import widened
from ilc.errors import UserError
from ilc.gradients._example_terms.batch_norm import Followed, Seen, mixes_examples
from ilc.gradients._example_terms.batch_norm_correction import Mixing
from ilc.gradients._example_terms.rules import BELOW_BATCH_NORM, RULES
from ilc.gradients._example_terms.terms import Shares, whole
from ilc.gradients._example_terms.watched_layers import refuse_second_use

_REMEDY = (
    "use gradients='per_example_loss' (exact, one backward pass per example) or 'per_example_share' "
    "(one pass, another vote), or GroupNorm, which does not mix examples"
)


class Following:
    """The BatchNorms of one pass by the layer that feeds each, found out while the model runs."""

    def __init__(self) -> None:
        self._followed: list[Followed] = []
        self._above: dict[nn.Module, Followed] = {}

    def start_local_pass(self) -> None:
        """From now on BatchNorms hand down only what an example's risk says about its own rows."""
        for followed in self._followed:
            followed.local = True

    def votes(self, layer: nn.Module, x: Tensor, delta: Tensor) -> tuple[dict[str, Shares], Mixing] | None:
        """The votes of a layer that feeds a BatchNorm, and what is taken off those for its weight.

        None if it feeds none that the risk reaches. ``delta`` is the gradient with respect to its
        output, of which the BatchNorm's part is usually all.
        """
        followed = self._above.get(layer)
        if followed is None or followed.seen is None:
            return None
        seen, followed.seen = followed.seen, None
        rule = BELOW_BATCH_NORM[type(layer)]
        alone = delta is seen.passed
        if alone:
            own, ones, normed, scale = seen.own, seen.ones, seen.normed, seen.scale
        else:  # The output also went elsewhere: no common factor to leave for later.
            by_channel = [1, -1] + [1] * (delta.ndim - 2)
            own = seen.own * seen.scale.view(by_channel) + (delta - seen.passed)
            ones, normed, scale = seen.ones * seen.scale, seen.normed * seen.scale, seen.scale.new_ones(())
            scale = scale.expand_as(seen.scale)
        shares = dict(rule.shares(layer, x, own))
        # A shift of the layer's output is what BatchNorm takes out again, exactly.
        shares["bias"] = whole(lambda s: (delta[s] - seen.passed[s]).reshape(*delta[s].shape[:2], -1).sum(2))
        arrange = shares["weight"].arrange

        def sums() -> tuple[Tensor, Tensor]:
            one_example = widened(x).sum(0, keepdim=True)
            sum_ones = rule.gradient(layer, one_example, own.new_ones(1, *own.shape[1:]))
            return arrange(sum_ones), arrange(rule.gradient(layer, x, seen.normalised))

        return shares, Mixing(ones, normed, seen.normalised, scale, sums)


@contextmanager
def following(
    model: nn.Module, collect: Callable[[nn.Module, Seen], None], starts: list[GradientEdge]
) -> Iterator[Following]:
    """Follow every BatchNorm in training mode; ``collect(layer, seen)`` gets what it saw.

    A BatchNorm on data, below which there is nothing to learn, needs no following: its statistics
    change no weight's influence. ``starts`` gets the parameters of such ones.

    Raises:
        UserError: a BatchNorm of unknown kind, used twice, or whose input is not the very output of a
            layer of ``BELOW_BATCH_NORM``.
    """
    self = Following()
    names = {
        layer: f"{name or 'the model'} ({type(layer).__name__})" for name, layer in model.named_modules()
    }
    below: dict[Node, nn.Module] = {}
    called: set[nn.Module] = set()

    def remember(layer: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
        if output.grad_fn is not None:
            # What happens to the output in place gives it another node.
            below[output.grad_fn] = layer

    def replace(layer: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        refuse_second_use(layer, called, names[layer].rpartition(" ")[0])
        x = arguments[0]
        if not output.requires_grad:
            return None
        if type(layer) not in RULES:
            raise UserError(f"the batch statistics of {names[layer]} cannot be followed: {_REMEDY}")
        followed = Followed(layer, x, output, lambda seen: collect(layer, seen))
        if x.requires_grad:
            feeder = below.get(x.grad_fn) if x.grad_fn is not None else None
            if feeder is None or (type(feeder) is nn.Linear and x.ndim != 2):
                kinds = ", ".join(kind.__name__ for kind in BELOW_BATCH_NORM)
                raise UserError(
                    f"the batch statistics of {names[layer]} cannot be followed, as its input is not the "
                    f"very output of one of {kinds} with the same channels: {_REMEDY}"
                )
            if feeder in self._above:
                raise UserError(
                    f"the statistics of both BatchNorms fed by {names[feeder]} cannot be followed: {_REMEDY}"
                )
            self._above[feeder] = followed
        else:
            starts.extend(get_gradient_edge(p) for p in layer.parameters() if p.requires_grad)
        self._followed.append(followed)
        return followed.replacing(layer, x)

    handles: list[RemovableHandle] = []
    for layer in names:
        if type(layer) in BELOW_BATCH_NORM:
            handles.append(layer.register_forward_hook(remember))
        elif mixes_examples(layer):
            handles.append(layer.register_forward_hook(replace))
    try:
        yield self
    finally:
        below.clear()  # Nodes are the graph, whose hooks and contexts hold on to all of this.
        self._followed.clear()
        self._above.clear()
        for handle in handles:
            handle.remove()
