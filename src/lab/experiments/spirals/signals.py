"""The spirals with one of their two learning signals taken out, for figure 7.

Thesis, section 3.3.1: shuffling some input dimensions over the dataset keeps their distribution but
breaks their tie to the label, so that only the other dimensions can be learned from.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from lab.data.environments import Environments
from lab.data.spirals import MECHANISM_DIMENSIONS


def mechanism_only(spirals: Environments, random: torch.Generator) -> Environments:
    """Shuffle the shortcuts over all E * N training examples: the mechanism's signal is left."""
    return _shuffled(spirals, slice(MECHANISM_DIMENSIONS, None), random)


def shortcut_only(spirals: Environments, random: torch.Generator) -> Environments:
    """Shuffle the mechanism over all E * N training examples: the shortcuts' signal is left."""
    return _shuffled(spirals, slice(MECHANISM_DIMENSIONS), random)


def _shuffled(spirals: Environments, dimensions: slice, random: torch.Generator) -> Environments:
    """Move the chosen dimensions of every example together, so that what binds them to each other stays."""
    inputs = spirals.inputs.flatten(0, 1).clone()
    order = torch.randperm(len(inputs), generator=random)
    inputs[:, dimensions] = inputs[order][:, dimensions]
    return replace(spirals, inputs=inputs.view_as(spirals.inputs))
