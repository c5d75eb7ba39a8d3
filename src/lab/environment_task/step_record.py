"""The record of the steps of an epoch. At the end it is checked once for numbers that are not finite."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn, optim

from lab.environment_task.method import Metrics, TrainingMethod
from lab.runs.one_run.diverged import DivergedError


class StepRecord:
    """The risks, penalties and kept shares of the steps of an epoch.

    They stay on the device until its end.
    """

    def __init__(self, first_step: int) -> None:
        self.first_step = first_step
        self.risks: list[Tensor] = []
        self.penalties: list[Tensor] = []
        self.kept_shares: list[Tensor] = []
        self.by_parameter: list[dict[str, Tensor]] = []

    def add(
        self, risks: Tensor, penalties: Tensor, kept_share: Tensor, by_parameter: dict[str, Tensor]
    ) -> None:
        """Record one step: risks and penalties ``[E]``, kept shares without dimensions."""
        self.risks.append(risks.mean())
        self.penalties.append(penalties.mean())
        self.kept_shares.append(kept_share)
        if by_parameter:
            self.by_parameter.append(by_parameter)

    def state_dict(self) -> dict[str, Any]:
        """The whole record, in few tensors, for a checkpoint in the middle of an epoch."""
        names = self.by_parameter[0] if self.by_parameter else ()
        return {
            "first_step": self.first_step,
            "risks": torch.stack(self.risks),
            "penalties": torch.stack(self.penalties),
            "kept_shares": torch.stack(self.kept_shares),
            "by_parameter": {
                name: torch.stack([noted[name] for noted in self.by_parameter]) for name in names
            },
        }

    @classmethod
    def of(cls, state: dict[str, Any], device: torch.device) -> StepRecord:
        """Make a record from the state that ``state_dict`` returned."""
        record = cls(state["first_step"])
        record.risks, record.penalties, record.kept_shares = (
            list(state[key].to(device)) for key in ("risks", "penalties", "kept_shares")
        )
        by_name = {name: shares.to(device) for name, shares in state["by_parameter"].items()}
        if by_name:
            rows = range(len(record.risks))
            record.by_parameter = [{name: shares[row] for name, shares in by_name.items()} for row in rows]
        return record

    def means(self, with_penalty: bool) -> Metrics:
        """The means over the steps, under the names of the metrics."""
        metrics: Metrics = {"mask/density": _mean(self.kept_shares), "epoch/risk": _mean(self.risks)}
        if with_penalty:
            metrics["epoch/penalty"] = _mean(self.penalties)
        for name in self.by_parameter[0] if self.by_parameter else ():
            metrics[f"mask/density/{name}"] = _mean([shares[name] for shares in self.by_parameter])
        return metrics

    def check(self, method: TrainingMethod, model: nn.Module, lr: float, epoch: int) -> None:
        """Raise DivergedError if a risk, a penalty or a parameter is not finite.

        The message names the first step.
        """
        broken = _first_not_finite(self.penalties)
        if broken is not None:
            raise DivergedError(method.penalty_not_finite(self.first_step + broken, lr))
        broken = _first_not_finite(self.risks)
        if broken is not None:
            step = self.first_step + broken + 1
            raise DivergedError(_diverged(f"the risk is not finite at step {step} (epoch {epoch})", lr))
        if not all(bool(p.isfinite().all()) for p in model.parameters()):
            step = self.first_step + len(self.risks)
            raise DivergedError(_diverged(f"a parameter is not finite after step {step}", lr))


def check_optimizer(optimizer: optim.Optimizer, step: int) -> None:
    """Check that the state of the optimizer is finite. An infinite squared gradient makes every step zero.

    Raises:
        DivergedError: a number in the state is not finite.
    """
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            for name, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, Tensor) and not bool(value.isfinite().all()):
                    raise DivergedError(
                        f"training diverged: the optimizer's {name} is not finite after step {step}, so the "
                        "parameters no longer move. Gradients or their squares are too large for float32: "
                        "scale the data down, or take a smaller optimizer.lr. The files written so far stay "
                        "as they are"
                    )


def _mean(values: list[Tensor]) -> float:
    return float(torch.stack(values).mean())


def _first_not_finite(values: list[Tensor]) -> int | None:
    finite = torch.stack(values).isfinite()
    return None if bool(finite.all()) else int(finite.logical_not().nonzero()[0])


def _diverged(what: str, lr: float) -> str:
    return (
        f"training diverged: {what} with a learning rate of {lr:g}. Take a smaller optimizer.lr. The files "
        "written so far stay as they are"
    )
