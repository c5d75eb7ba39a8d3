"""One pass that says how far environments or examples agree."""

from __future__ import annotations

from torch import Tensor, nn

from ilc._numbers import check_whole_number
from ilc.aggregators._base import check_threshold
from ilc.diagnosis._components import Chosen
from ilc.diagnosis._diagnosis import Diagnosis, layer_of
from ilc.diagnosis._gradients import of_environments, of_examples
from ilc.diagnosis._part import Summary
from ilc.diagnosis._seen import Seen, joined, seen
from ilc.errors import UserError
from ilc.gradients._batches import Batch
from ilc.gradients._environment import trainable_parameters
from ilc.gradients._refusals import check_is_module, check_loss_function
from ilc.gradients._trials.trial_passes import trial_passes
from ilc.objectives import ObjectiveFunction

# Gradients that wait until they are looked at together.
_NUMBERS_AT_ONCE = 2**22

WAYS = ("vectorized", "sequential", "per_example")


def diagnose(
    model: nn.Module,
    loss_fn: ObjectiveFunction,
    inputs: Batch = None,
    targets: Batch = None,
    gradients: str = "vectorized",
    agreement_threshold: float = 0.8,
    components: int | None = 256,
    seed: int = 0,
) -> Diagnosis:
    """Say how far the environments' gradients agree on each parameter and layer, and who dissents.

    The model does not change: parameters, ``.grad``, buffers and random numbers are as before.

    With ``per_example`` it is one forward and one backward pass. No gradient of a weight is made as a whole:
    only the chosen components are, for all examples. With ``vectorized`` and ``sequential`` the gradients of
    all environments are in memory at once, as in ``ilc.verify``.

    Args:
        model: as for ``ilc.backward``.
        loss_fn: as for ``ilc.backward``, but no list of losses.
        inputs: as for ``ilc.backward``.
        targets: as for ``ilc.backward``.
        gradients: ``vectorized`` or ``sequential`` for environments ``[E, N, ...]``, ``per_example`` for
            examples ``[E, 1, ...]``, each an environment of its own.
        agreement_threshold: the threshold of the AND-mask whose kept share is reported.
        components: how many components of each parameter are looked at, at most. They are drawn at random. A
            few more are taken where whole rows of a weight are needed. None looks at all components: every
            number is then exact, but the memory is E times that of all parameters.
        seed: the seed of the draw.

    Raises:
        UserError: there is one environment only, the way is unknown, ``components`` is no whole number of at
            least 1, BatchNorm mixes the examples, no risk is finite, and as for ``ilc.backward``.
    """
    if gradients not in WAYS:
        raise UserError(f"gradients must be one of {', '.join(WAYS)}, got {gradients!r}")
    if components is not None and check_whole_number("components", components) < 1:
        raise UserError(f"components must be at least 1, or None for all, got {components}")
    if isinstance(loss_fn, (list, tuple)):
        raise UserError(
            "diagnose makes the passes itself, and loss_fn is a list of losses: give one loss_fn and a batch"
        )
    if not callable(loss_fn):
        raise UserError(
            f"loss_fn must be a function of outputs and targets, got {type(loss_fn).__name__}: give one, "
            "such as torch.nn.functional.cross_entropy"
        )
    check_is_module(model)
    check_loss_function(loss_fn)
    looked = Looked(check_threshold(agreement_threshold))
    chosen = Chosen(components, check_whole_number("seed", seed))
    trained = trainable_parameters(model)
    with trial_passes(model, loss_fn, next(iter(trained.values()))):
        if gradients == "per_example":
            risks = of_examples(model, loss_fn, inputs, targets, chosen, looked.note)
        else:
            risks = of_environments(model, loss_fn, inputs, targets, gradients, chosen, looked.note)
    if len(risks) < 2:
        raise UserError(
            "a diagnosis compares environments, and the batch has one: stack several, [E, N, ...], or take "
            "gradients='per_example' with every example an environment of its own, [E, 1, ...]"
        )
    return looked.summed_up({name: p.numel() for name, p in trained.items()}, risks)


class Looked:
    """The gradients that one pass brings, looked at in groups of parameters."""

    def __init__(self, agreement_threshold: float) -> None:
        self._threshold = agreement_threshold
        self._waiting: list[Tensor] = []
        self._names: list[str] = []
        self._parts: list[Seen] = []

    def note(self, name: str, votes: Tensor) -> None:
        """Take the gradients ``[E, C]`` of a parameter at the chosen components."""
        self._names.append(name)
        self._waiting.append(votes)
        if sum(one.numel() for one in self._waiting) >= _NUMBERS_AT_ONCE:
            self._look()

    def _look(self) -> None:
        if self._waiting:
            self._parts.append(seen(self._waiting, self._threshold))
            self._waiting = []

    def summed_up(self, sizes: dict[str, int], risks: Tensor) -> Diagnosis:
        """The diagnosis of parameters with these numbers of components."""
        self._look()
        summary = Summary(joined(self._parts), [sizes[name] for name in self._names], len(risks))
        place = {name: q for q, name in enumerate(self._names)}
        layers: dict[str, list[int]] = {}
        for name in sizes:
            layers.setdefault(layer_of(name), []).append(place[name])
        every = list(place.values())
        return Diagnosis(
            self._threshold,
            tuple(summary.part(name, [place[name]]) for name in sizes),
            tuple(summary.part(name, own) for name, own in layers.items()),
            summary.part("all", every),
            risks,
            summary.dissent(every),
            {name: summary.dissent(own) for name, own in layers.items()},
            summary.opposition(every),
        )
