"""Random play in MuJoCo, collected once: states, actions, next states, rewards (thesis, appendix C.2.2.1)."""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from ilc.errors import UserError
from lab.files.atomic import in_memory, write_atomically, write_json
from lab.files.locked import locked
from lab.machine.seeding import seed_for

ENVIRONMENTS = ("Swimmer-v4", "Walker2d-v4", "Hopper-v4", "HalfCheetah-v4")
STEPS = 16
"""The number of steps whose return is predicted."""
WARM_UP = (10, 30)
"""The smallest and the largest number of random steps before an example begins."""

PARTS = {"states": 1, "actions": 2, "next_states": 2, "rewards": 2}
"""The arrays of the play, each with the number of its first axes that are ``[N, 16]``."""

Arrays = dict[str, NDArray[Any]]


def rollouts(folder: Path, environment: str, n: int, seed: int) -> tuple[Arrays, str]:
    """Load the play, or collect it first; return arrays mapped from disk and the hash of their values.

    The arrays are float32: ``states`` ``[N, D]`` at the beginning of each example, ``actions``
    ``[N, 16, A]``, ``next_states`` ``[N, 16, D]`` and ``rewards`` ``[N, 16]``. Each action is -1, 0 or 1 with
    equal probability.

    Deviation: the environments have version 4, where the thesis uses version 2. In both versions the bonus
    for being alive is still paid when an episode goes on after its end, as episodes do here.

    Raises:
        UserError: the environment is unknown, MuJoCo is not installed, or files have changed since they were
            written.
    """
    if environment not in ENVIRONMENTS:
        raise UserError(f"dataset.environment must be one of {', '.join(ENVIRONMENTS)}, got {environment!r}")
    path = folder / f"{environment}-{n}-seed{seed}"
    try:
        with locked(folder):
            if not (path / "manifest.json").exists():
                _keep(path, _play(environment, n, seed))
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror}. Choose another folder with data_dir=..."
        ) from error
    return _loaded(path, n)


def _keep(path: Path, arrays: Arrays) -> None:
    path.mkdir(exist_ok=True)
    hashes = {}
    for name, values in arrays.items():
        content = in_memory(lambda file, values=values: np.save(file, values))  # type: ignore[misc]
        write_atomically(path / f"{name}.npy", lambda file, content=content: file.write(content))  # type: ignore[misc]
        hashes[name] = hashlib.sha256(content).hexdigest()
    write_json(path / "manifest.json", {"sha256": hashes})


def _loaded(path: Path, n: int) -> tuple[Arrays, str]:
    remedy = f"remove {path}, and it is collected again"
    try:
        hashes: dict[str, str] = json.loads((path / "manifest.json").read_text())["sha256"]
        if set(hashes) != set(PARTS):
            raise ValueError(f"manifest.json names {sorted(hashes)} instead of {sorted(PARTS)}")
        arrays = {}
        for name, expected in hashes.items():
            if hashlib.sha256((path / f"{name}.npy").read_bytes()).hexdigest() != expected:
                raise UserError(f"{path / name}.npy was changed after it was written: {remedy}")
            arrays[name] = np.load(path / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            if (
                arrays[name].dtype != np.float32
                or arrays[name].shape[: PARTS[name]] != (n, STEPS)[: PARTS[name]]
            ):
                raise ValueError(f"{name}.npy holds {arrays[name].dtype} {arrays[name].shape}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged ({error}): {remedy}") from error
    return arrays, hashlib.sha256("".join(hashes.values()).encode()).hexdigest()


def _play(name: str, n: int, seed: int) -> Arrays:
    try:
        import gymnasium
        import mujoco  # type: ignore[import-untyped]  # noqa: F401 - gymnasium's own message says less
    except ImportError as error:
        raise UserError(
            "dataset=mujoco_returns needs MuJoCo, which is not installed: run pip install 'gymnasium[mujoco]'"
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about newer versions, which end episodes differently
        game = gymnasium.make(name, disable_env_checker=True).unwrapped
    random = np.random.default_rng(seed_for(seed, name))
    n_actions = game.action_space.shape[0]  # type: ignore[index]
    kept: dict[str, list[NDArray[Any]]] = {"states": [], "actions": [], "next_states": [], "rewards": []}
    for example in track(range(n), description=f"{name} examples", disable=not sys.stdout.isatty()):
        state, _ = game.reset(seed=int(random.integers(2**31)) if example == 0 else None)
        warm_up = random.integers(-1, 2, (random.integers(WARM_UP[0], WARM_UP[1] + 1), n_actions))
        for action in warm_up:
            state = game.step(action.astype(np.float64))[0]
        actions = random.integers(-1, 2, (STEPS, n_actions)).astype(np.float64)
        kept["states"].append(state)
        kept["actions"].append(actions)
        seen = [game.step(action)[:2] for action in actions]
        kept["next_states"].append(np.stack([after for after, _ in seen]))
        kept["rewards"].append(np.array([reward for _, reward in seen]))
    game.close()
    return {part: np.stack(values).astype(np.float32) for part, values in kept.items()}
