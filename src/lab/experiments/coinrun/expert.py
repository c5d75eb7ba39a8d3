"""The expert that comes with the package: a file of weights, and a sheet that describes it."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ilc.errors import UserError
from lab.experiments.coinrun.network import ExpertNetwork
from lab.files.atomic import in_memory, write_atomically, write_json

SHIPPED = Path(__file__).parent / "shipped"


class Expert(NamedTuple):
    """A trained network, the sheet that describes it, and the SHA-256 of its file."""

    network: ExpertNetwork
    sheet: dict[str, Any]
    sha256: str


def save_expert(folder: Path, network: ExpertNetwork, sheet: dict[str, Any]) -> None:
    """Write ``expert.pt`` and ``expert.json``.

    ``expert.pt`` is a state dict in half precision and contains nothing that runs code.

    Args:
        folder: folder to write to; it is made if it does not exist.
        network: network to save.
        sheet: description of the network; loading needs its ``width``, ``features`` and ``blocks``.

    Raises:
        UserError: the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    halves = {name: value.half() for name, value in network.state_dict().items()}
    content = in_memory(lambda file: torch.save(halves, file))
    write_atomically(folder / "expert.pt", lambda file: file.write(content))
    write_json(folder / "expert.json", {**sheet, "sha256": hashlib.sha256(content).hexdigest()})


def load_expert(folder: Path = SHIPPED) -> Expert:
    """Read an expert in float32 and check its hash; the default is the expert that comes with the package.

    Raises:
        UserError: a file is missing or damaged, or the weights are not those that the sheet describes.
    """
    try:
        sheet = json.loads((folder / "expert.json").read_text())
        content = (folder / "expert.pt").read_bytes()
    except (OSError, json.JSONDecodeError) as error:
        raise UserError(
            f"no CoinRun expert can be read from {folder} ({error}): put expert.pt and expert.json there, or "
            "train one with `python scripts/train_expert.py`"
        ) from error
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != sheet["sha256"]:
        raise UserError(
            f"{folder / 'expert.pt'} is damaged: its SHA-256 begins with {sha256[:12]}, but expert.json says "
            f"{sheet['sha256'][:12]}. Take both files from the repository again"
        )
    network = ExpertNetwork(sheet["width"], sheet["features"], sheet["blocks"])
    network.load_state_dict(torch.load(io.BytesIO(content), map_location="cpu", weights_only=True))
    return Expert(network.eval(), sheet, sha256)
