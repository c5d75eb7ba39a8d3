"""Checks that the data, the model and the risk fit together."""

from __future__ import annotations

from ilc.errors import UserError
from ilc.objectives import RISKS
from lab.configuration.groups import choices_whose
from lab.configuration.section import Section
from lab.data import Environments


def check_fit(data: Environments, dataset: Section, model: Section, risk: str) -> None:
    """Compare the inputs and targets of the data with those that the model and the risk take.

    A risk has the attribute ``takes``. A model may have ``takes`` and ``smallest_image``; a model without
    them is not checked.

    Raises:
        UserError: they do not fit.
    """
    wanted, there = RISKS[risk].takes, data.targets_are
    if wanted != there:
        fitting = [name for name, other in RISKS.items() if other.takes == there]
        raise UserError(
            f"risk={risk} needs {wanted} as targets, but the targets of dataset={dataset.name} are {there}: "
            f"take {' or '.join(f'risk={name}' for name in fitting)}, or another dataset"
        )
    shape = " x ".join(map(str, data.inputs.shape[2:]))
    takes = getattr(model.target, "takes", None)
    if takes is not None and data.inputs_are not in takes:
        fitting = choices_whose(
            "model",
            lambda other: data.inputs_are in getattr(other, "takes", ()) and not hasattr(other, "only_with"),
        )
        names = " or ".join(f"model={name}" for name in fitting) or "a model for them"
        raise UserError(
            f"model={model.name} takes {' or '.join(takes)}, but the inputs of dataset={dataset.name} are "
            f"{data.inputs_are} ({shape}): take {names}, or another dataset"
        )
    smallest = getattr(model.target, "smallest_image", 1)
    if takes is not None and "images" in data.inputs_are and min(data.inputs.shape[3:]) < smallest:
        raise UserError(
            f"model={model.name} takes images of at least {smallest} x {smallest} pixels, but the images of "
            f"dataset={dataset.name} are {shape}: take larger images, or another model"
        )
