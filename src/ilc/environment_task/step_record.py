"""Whether an epoch went well: what its steps saw, looked at once, and the messages where it did not."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ilc.environment_task.method import Method, Metrics
from ilc.errors import UserError


class StepRecord:
    """Risks, penalties and kept shares of an epoch's steps, left on the device until the epoch is over."""

    def __init__(self, first_step: int) -> None:
        self.first_step = first_step
        self.risks: list[Tensor] = []
        self.penalties: list[Tensor] = []
        self.kept_shares: list[Tensor] = []
        self.by_parameter: list[dict[str, Tensor]] = []

    def add(
        self, risks: Tensor, penalties: Tensor, kept_share: Tensor, by_parameter: dict[str, Tensor]
    ) -> None:
        """Take note of one step: risks and penalties ``[E]``, kept shares 0-d."""
        self.risks.append(risks.mean())
        self.penalties.append(penalties.mean())
        self.kept_shares.append(kept_share)
        if by_parameter:
            self.by_parameter.append(by_parameter)

    def means(self, with_penalty: bool) -> Metrics:
        """Means over the steps, under the names that the metrics have."""
        metrics: Metrics = {"mask/density": _mean(self.kept_shares), "epoch/risk": _mean(self.risks)}
        if with_penalty:
            metrics["epoch/penalty"] = _mean(self.penalties)
        for name in self.by_parameter[0] if self.by_parameter else ():
            metrics[f"mask/density/{name}"] = _mean([shares[name] for shares in self.by_parameter])
        return metrics

    def check(self, method: Method, model: nn.Module, lr: float, epoch: int) -> None:
        """Raise UserError for the first step whose risk or penalty, or the parameter that, is not finite."""
        broken = _first_not_finite(self.penalties)
        if broken is not None:
            raise UserError(method.penalty_not_finite(self.first_step + broken, lr))
        broken = _first_not_finite(self.risks)
        if broken is not None:
            step = self.first_step + broken + 1
            raise UserError(_diverged(f"the risk is not finite at step {step} (epoch {epoch})", lr))
        if not all(bool(p.isfinite().all()) for p in model.parameters()):
            step = self.first_step + len(self.risks)
            raise UserError(_diverged(f"a parameter is not finite after step {step}", lr))


def _mean(values: list[Tensor]) -> float:
    return float(torch.stack(values).mean())


def _first_not_finite(values: list[Tensor]) -> int | None:
    finite = torch.stack(values).isfinite()
    return None if bool(finite.all()) else int(finite.logical_not().nonzero()[0])


def _diverged(what: str, lr: float) -> str:
    return (
        f"training diverged: {what} with a learning rate of {lr:g}. Take a smaller optimizer.lr. "
        "What was written before stays as it is"
    )
