"""Runs of sharded models that are saved with torch.distributed.checkpoint and go on."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from fsdp_cases import Case, batch, divided, take_step, whole
from torch import Tensor
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from ilc.aggregators import GradDrop
from ilc.distributed import current

CASE = Case(GradDrop())
"""It draws random numbers, so that its state matters too."""


def train(folder: Path | None, first: int, last: int, save: bool) -> dict[str, Tensor]:
    """The model after steps from ``first`` to ``last`` with Adam, which begin with a checkpoint or at 0."""
    torch.manual_seed(1 + first)
    model = divided(CASE.model().double())
    aggregator = copy.deepcopy(CASE.aggregator)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    if folder is not None and first:
        state = everything(model, optimizer, aggregator)
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        aggregator.load_state_dict(state["aggregator"])
    for step in range(first, last):
        inputs, targets = batch(CASE, step)
        mine = current().part(len(inputs))
        take_step(CASE, model, aggregator, inputs[mine], targets[mine])
        optimizer.step()
    if folder is not None and save:
        dcp.save(everything(model, optimizer, aggregator), checkpoint_id=folder)
    return {name: whole(value) for name, value in model.state_dict().items()}


def everything(model: Any, optimizer: Any, aggregator: Any) -> dict[str, Any]:
    of_model, of_optimizer = get_state_dict(model, optimizer)
    return {"model": of_model, "optimizer": of_optimizer, "aggregator": aggregator.state_dict()}
