"""The cost of a step of Adam with the temporal AND-mask beside ``torch.optim.Adam``, for ResNet-18."""

from __future__ import annotations

import math
import time
from functools import partial

import pandas as pd
import torch

from ilc.optim import TemporalMaskAdam
from lab.experiments.measurement import Parts, Tables
from lab.experiments.step_cost import default_device, synchronize
from lab.machine.torchvision_import import import_torchvision


def parts(steps: int | None = None, device: str | None = None, threads: int = 1) -> Parts:
    """Return the part of ``cost/temporal_mask.csv``, which takes seconds on an idle machine.

    The steps of the optimizers alternate, and the fastest step of each counts.

    Args:
        steps: the number of timed steps per optimizer (default: 100).
        device: ``cpu`` or ``cuda`` (default: the GPU where there is one).
        threads: the number of CPU threads.
    """
    return {"steps": partial(_measure, steps or 100, device or default_device(), threads)}


def _measure(steps: int, device: str, threads: int) -> Tables:
    torch.set_num_threads(threads)
    parameters = list(
        import_torchvision("torchvision.models").resnet18(num_classes=15).to(device).parameters()
    )
    for p in parameters:
        p.grad = torch.randn_like(p)
    optimizers: dict[str, torch.optim.Optimizer] = {
        "torch.optim.Adam": torch.optim.Adam(parameters, 1e-6),
        "torch.optim.Adam(foreach=True)": torch.optim.Adam(parameters, 1e-6, foreach=True),
        "TemporalMaskAdam": TemporalMaskAdam(parameters, 1e-6),
        "TemporalMaskAdam(pytorch_form=True)": TemporalMaskAdam(parameters, 1e-6, pytorch_form=True),
    }
    fastest = dict.fromkeys(optimizers, math.inf)
    for _ in range(steps):
        for name, optimizer in optimizers.items():
            synchronize()
            began = time.perf_counter()
            optimizer.step()
            synchronize()
            fastest[name] = min(fastest[name], time.perf_counter() - began)
    adam = fastest["torch.optim.Adam"]
    rows = [
        {
            "optimizer": name,
            "milliseconds": round(1e3 * seconds, 2),
            "relative": round(seconds / adam, 4),
            "threads": threads,
        }
        for name, seconds in fastest.items()
    ]
    return {"cost/temporal_mask.csv": pd.DataFrame(rows)}
