"""What a step of the temporal AND-mask Adam costs beside one of ``torch.optim.Adam``, for ResNet-18.

    python scripts/benchmark_optimizer.py              seconds

writes ``results/benchmark/temporal_mask.csv``: the fastest of many alternating steps, in milliseconds.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import pandas as pd
import torch

from ilc.atomic import write_text
from ilc.configuration.command_line import run_command
from ilc.optim import TemporalMaskAdam
from ilc.torchvision_import import import_torchvision

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Time, write and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "benchmark")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    parameters = list(import_torchvision("torchvision.models").resnet18(num_classes=15).parameters())
    for p in parameters:
        p.grad = torch.randn_like(p)
    optimizers: dict[str, torch.optim.Optimizer] = {
        "torch.optim.Adam": torch.optim.Adam(parameters, 1e-6),
        "torch.optim.Adam(foreach=True)": torch.optim.Adam(parameters, 1e-6, foreach=True),
        "TemporalMaskAdam": TemporalMaskAdam(parameters, 1e-6),
        "TemporalMaskAdam(pytorch_form=True)": TemporalMaskAdam(parameters, 1e-6, pytorch_form=True),
    }
    fastest = dict.fromkeys(optimizers, math.inf)
    for _ in range(arguments.steps):
        for name, optimizer in optimizers.items():
            began = time.perf_counter()
            optimizer.step()
            fastest[name] = min(fastest[name], time.perf_counter() - began)
    table = pd.DataFrame({"optimizer": list(fastest), "milliseconds": [1e3 * s for s in fastest.values()]})
    table["relative"] = table["milliseconds"] / table["milliseconds"].iloc[0]
    table["threads"] = arguments.threads
    arguments.results.mkdir(parents=True, exist_ok=True)
    path = arguments.results / "temporal_mask.csv"
    write_text(path, table.to_csv(index=False, float_format="%.4g"))
    print(table.to_string(index=False), path, sep="\n")


if __name__ == "__main__":
    run_command(main)
