"""The toy at a walking pace, which fails until a file is there: for what can happen on a cluster."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
from toy_task import ToyTask

from ilc.errors import UserError
from lab.runs.one_run.run_options import RunOptions


class SlowTask(ToyTask):
    """Sleeps ``pause`` seconds an epoch; seeds in ``broken`` (as 4-9) need the file ``mended``."""

    def __init__(
        self,
        run: RunOptions,
        device: torch.device,
        method: str,
        pause: float,
        broken: str,
        mended: str,
        lr: float,
    ) -> None:
        if str(run.seed) in broken.split("-") and not Path(mended).exists():
            raise UserError("something is broken")
        super().__init__(run, device, method, 5, lr)
        self.pause = pause

    def train_epoch(self) -> dict[str, Any]:
        time.sleep(self.pause)
        return super().train_epoch()
