"""How many unseen levels the student of a finished ``coinrun_bc`` run solves.

    python scripts/play_student.py outputs/coinrun_bc/FOLDER ...

prints the mean return and success rate of each, and of the expert, and writes ``unseen_levels.json`` into the
run's folder. The levels are unseen by student and expert.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from omegaconf import OmegaConf
from torch import Tensor

from ilc.atomic import write_json
from ilc.coinrun.expert import load_expert
from ilc.coinrun.game import FRAME_SHAPE, N_ACTIONS
from ilc.coinrun.levels import UNSEEN
from ilc.coinrun.play import Policy, returns_on
from ilc.configuration.command_line import run_command
from ilc.configuration.section import Section
from ilc.errors import UserError


def main() -> None:
    """Play, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", help="folders of finished runs")
    parser.add_argument("--levels", type=int, default=500)
    arguments = parser.parse_args()
    expert = load_expert()
    mode, levels = expert.sheet["mode"], UNSEEN[: arguments.levels]
    results = {}
    for run in arguments.runs:
        results[run] = _described(student(run), levels, mode)
        print(f"{run}: {_words(results[run])}")
        write_json(run / "unseen_levels.json", results[run])
    print(f"expert: {_words(_described(expert.network.distribution, levels, mode))}")


def student(run: Path) -> Policy:
    """The policy that a run ended with.

    Raises:
        UserError: not the folder of a finished CoinRun experiment.
    """
    if not (run / "done").exists():
        raise UserError(
            f"{run} is not the folder of a finished run: give the run's command again to finish it"
        )
    config = OmegaConf.load(run / "config.yaml")
    if config.name != "coinrun_bc":
        raise UserError(f"{run} is a run of {config.name}, which plays no CoinRun: give one of coinrun_bc")
    model: torch.nn.Module = Section.of("model", OmegaConf.to_container(config.model)).build(
        FRAME_SHAPE[0], N_ACTIONS
    )
    state = torch.load(run / "checkpoint.pt", map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    model.eval()

    @torch.no_grad()
    def distribution(frames: Tensor) -> Tensor:
        logits: Tensor = model(frames)
        return logits.softmax(dim=1)

    return distribution


def _described(policy: Policy, levels: range, mode: str) -> dict[str, float | int]:
    returns = returns_on(policy, levels, mode)
    return {
        "levels": len(levels),
        "first_level": levels.start,
        "mean_return": float(returns.mean()),
        "success_rate": float((returns > 0).mean()),
    }


def _words(result: dict[str, float | int]) -> str:
    return (
        f"mean return {result['mean_return']:.2f} of 10, success rate {result['success_rate']:.3f} "
        f"on {result['levels']} unseen levels"
    )


if __name__ == "__main__":
    run_command(main)
