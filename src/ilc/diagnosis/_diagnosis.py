"""The result of ``diagnose``: numbers, a table for the terminal, data frames."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ilc._numbers import check_whole_number
from ilc.diagnosis._part import Part
from ilc.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 5
"""The number of environments that the table names."""


@dataclass(frozen=True)
class Diagnosis:
    """How far the gradients of E environments agree, and who dissents; ``print`` shows it as a table.

    Attributes:
        agreement_threshold: the threshold of ``kept_share`` and ``by_chance``.
        parameters: one entry for each trainable parameter, in the order of the model.
        layers: the parameters of each module together.
        overall: all parameters together.
        risks: the risk of each environment or example, ``[E]``.
        dissent: how often the environment's sign is against the sum of the other environments' signs, over
            all components on which both have a sign, ``[E]``, float64. 0.5 is chance. NaN for an environment
            without any vote.
        dissent_by_layer: the same for each layer, ``[E]`` by the layer's name.
        opposition: how much of the environment's gradient, by the sum of its sizes, is against the sum of the
            other environments' gradients, ``[E]``, float64. 0.5 is chance. Large gradients count more, in the
            environment and in the others.
    """

    agreement_threshold: float
    parameters: tuple[Part, ...]
    layers: tuple[Part, ...]
    overall: Part
    risks: Tensor
    dissent: Tensor
    dissent_by_layer: dict[str, Tensor]
    opposition: Tensor

    def dissenters(self, n: int | None = None) -> list[int]:
        """The environments that dissent most often, the first of them first.

        Args:
            n: how many; None is all. Those without any vote come last.

        Raises:
            UserError: ``n`` is no whole number of at least 0.
        """
        if n is not None and check_whole_number("n", n) < 0:
            raise UserError(f"n must be at least 0, got {n}: None gives all environments")
        order = self.dissent.nan_to_num(-1).argsort(descending=True, stable=True)
        return [int(e) for e in order[:n]]

    def parameter_frame(self) -> pd.DataFrame:
        """A row for each parameter, with the attributes of ``Part`` as columns.

        Raises:
            UserError: pandas is not installed.
        """
        return _frame({f.name: [getattr(one, f.name) for one in self.parameters] for f in fields(Part)})

    def environment_frame(self) -> pd.DataFrame:
        """A row for each environment or example: ``risk``, ``dissent``, ``opposition``, ``dissent/LAYER``.

        Raises:
            UserError: pandas is not installed.
        """
        columns = {"risk": self.risks, "dissent": self.dissent, "opposition": self.opposition}
        columns |= {f"dissent/{name}": each for name, each in self.dissent_by_layer.items()}
        return _frame({name: values.cpu().tolist() for name, values in columns.items()})

    def __str__(self) -> str:
        names = [f"  {one.name}" for one in self.parameters] + [one.name for one in self.layers]
        width = max(map(len, [*names, "layer, parameter"]))
        heads = "components  agreement   kept  by chance  noise scale  signal/noise"
        lines = [f"{'layer, parameter':{width}}  {heads}"]
        left = list(self.parameters)
        for layer in self.layers:
            own = [one for one in left if layer_of(one.name) == layer.name]
            lines.append(_line(layer.name, layer, width))
            lines += [_line(f"  {one.name}", one, width) for one in own]
        lines.append(_line(self.overall.name, self.overall, width))
        return "\n".join([*lines, *self._about_dissent()])

    def _about_dissent(self) -> list[str]:
        known = self.dissent[~self.dissent.isnan()]
        if not len(known):
            return ["dissent: no environment has a vote"]
        most = ", ".join(f"{e} ({float(self.dissent[e]):.0%})" for e in self.dissenters(_SHOWN))
        middle = f"median {float(known.median()):.0%} of {len(self.dissent)} environments"
        return [f"kept at agreement threshold {self.agreement_threshold:g}; dissent: {middle}; most: {most}"]


def layer_of(parameter: str) -> str:
    """The name of the module that owns a parameter; ``(model)`` for the model itself."""
    return parameter.rpartition(".")[0] or "(model)"


def _line(name: str, one: Part, width: int) -> str:
    return (
        f"{name:{width}}  {one.components:10}  {one.agreement:9.3f}  {one.kept_share:5.3f}  "
        f"{one.by_chance:9.3f}  {one.noise_scale:11.3g}  {one.signal_to_noise:12.3g}"
    )


def _frame(columns: dict[str, list[Any]]) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError as error:
        raise UserError(
            "data frames need pandas, which is not installed: run pip install pandas, or print the diagnosis"
        ) from error
    return pd.DataFrame(columns)
