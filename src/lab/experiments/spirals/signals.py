"""The spirals with one of their two learning signals taken out, for figure 7.

The method is that of the thesis, section 3.3.1. Some input dimensions are shuffled over the dataset. This
keeps their distribution, but removes their relation to the label. So a network can only learn from the other
dimensions.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from lab.data.environments import Environments
from lab.data.spirals import MECHANISM_DIMENSIONS


def mechanism_only(spirals: Environments, random: torch.Generator) -> Environments:
    """Shuffle the shortcuts over all E * N training examples, so that only the mechanism's signal is left."""
    return _shuffled(spirals, slice(MECHANISM_DIMENSIONS, None), random)


def shortcut_only(spirals: Environments, random: torch.Generator) -> Environments:
    """Shuffle the mechanism over all E * N training examples, so that only the shortcuts' signal is left."""
    return _shuffled(spirals, slice(MECHANISM_DIMENSIONS), random)


def _shuffled(spirals: Environments, dimensions: slice, random: torch.Generator) -> Environments:
    """Shuffle the chosen dimensions together, so that their relation to each other stays."""
    inputs = spirals.inputs.flatten(0, 1).clone()
    order = torch.randperm(len(inputs), generator=random)
    inputs[:, dimensions] = inputs[order][:, dimensions]
    return replace(spirals, inputs=inputs.view_as(spirals.inputs))
