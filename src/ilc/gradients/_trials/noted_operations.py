"""The operations of the last pass per example, noted so that somebody can look at them after the step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.autograd.graph import Node

from ilc.gradients._example_terms.operation_names import operation_names
from ilc.gradients._example_terms.outline import operations
from ilc.gradients._trials.findings import Findings, findings
from ilc.objectives import ObjectiveFunction

_NOW = "operations of the last pass per example"


def note_operations(
    model: nn.Module, loss_fn: ObjectiveFunction, outputs: Any, detours: Mapping[Node, Node | None]
) -> None:
    """Note the names of the operations of a pass.

    Args:
        model: the model.
        loss_fn: the objective.
        outputs: what the model returned.
        detours: the ways around the layers whose votes are rebuilt.
    """
    findings(model, loss_fn)[_NOW] = operation_names(operations(outputs, detours))


def noted_operations(known: Findings) -> tuple[str, ...] | None:
    """What was noted last; None if nothing was."""
    names: tuple[str, ...] | None = known.get(_NOW)
    return names
