"""The behavioural cloning dataset: what is in it, that it continues, and that levels do not overlap."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from ilc.errors import UserError
from lab.experiments.coinrun import collect as collecting
from lab.experiments.coinrun import collection_plan as plan
from lab.experiments.coinrun.collect import collect
from lab.experiments.coinrun.collection_plan import CollectionOptions
from lab.experiments.coinrun.expert import Expert, load_expert, save_expert
from lab.experiments.coinrun.game import frames_of, make_pinned_game
from lab.experiments.coinrun.network import ExpertNetwork
from lab.experiments.coinrun.play import draw_actions
from lab.machine.seeding import seed_for

OPTIONS = CollectionOptions(n_levels=6, states_per_level=20, n_test=40, n_validation=30, seed=0)
SPLITS = ("train", "test", "validation")
ARRAYS = tuple(f"{split}_{kind}" for split in SPLITS for kind in ("frames", "distributions"))


@pytest.fixture(scope="module")
def expert(tmp_path_factory: pytest.TempPathFactory) -> Expert:
    """Untrained, but it does not play at random: its outputs are enlarged."""
    torch.manual_seed(0)
    network = ExpertNetwork(4, 16)
    with torch.no_grad():
        network.action.weight *= 20
    folder = tmp_path_factory.mktemp("expert")
    save_expert(folder, network, {"width": 4, "features": 16, "blocks": 0, "mode": "easy", "frames": 0})
    return load_expert(folder)


@pytest.fixture(scope="module", autouse=True)
def _small_portions() -> None:
    plan.GAMES_AT_ONCE = 16
    plan.HORIZON = 40


@pytest.fixture(scope="module")
def collected(expert: Expert, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return collect(tmp_path_factory.mktemp("data"), OPTIONS, expert)


def test_shapes_and_manifest(collected: Path, expert: Expert) -> None:
    arrays = {name: np.load(collected / f"{name}.npy") for name in ARRAYS}
    assert arrays["train_frames"].shape == (120, 3, 64, 64)
    assert arrays["train_frames"].dtype == np.uint8
    assert arrays["test_distributions"].shape == (40, 15)
    assert arrays["validation_distributions"].shape == (30, 15)
    for split in SPLITS:
        np.testing.assert_allclose(arrays[f"{split}_distributions"].sum(axis=1), 1, rtol=1e-5)
        assert (
            arrays[f"{split}_frames"].reshape(-1, 3 * 64 * 64).std(axis=1).min() > 0
        )  # No row was left out.
    manifest = json.loads((collected / "manifest.json").read_text())
    assert manifest["expert_sha256"] == expert.sha256
    assert manifest["mode"] == "easy"
    assert manifest["seed"] == 0


def test_levels_of_different_splits_do_not_overlap(collected: Path) -> None:
    manifest = json.loads((collected / "manifest.json").read_text())
    levels = [manifest[f"{split}_levels"] for split in SPLITS]
    assert [len(ours) for ours in levels] == [6, 40, 30]  # Each state but the training ones of its own level.
    assert len(set().union(*levels)) == 76


def test_the_distributions_are_the_experts_for_these_frames(collected: Path, expert: Expert) -> None:
    for split in SPLITS:
        frames = torch.from_numpy(np.load(collected / f"{split}_frames.npy"))
        distributions = torch.from_numpy(np.load(collected / f"{split}_distributions.npy"))
        torch.testing.assert_close(expert.network.distribution(frames), distributions, rtol=1e-4, atol=1e-5)


def test_frames_come_from_the_levels_of_the_manifest(collected: Path, expert: Expert) -> None:
    """Played again, state by state, asking the game for its level each time."""
    manifest = json.loads((collected / "manifest.json").read_text())
    levels = {"train": np.repeat(manifest["train_levels"], 20), "test": manifest["test_levels"]}
    levels["validation"] = manifest["validation_levels"]
    frames_of_split = {split: np.load(collected / f"{split}_frames.npy") for split in levels}
    compared = 0
    for number, shard in enumerate(plan.shards(OPTIONS)):
        seed = seed_for(0, f"shard {number}")
        random = np.random.default_rng(seed)
        game = make_pinned_game(shard.levels, "easy", seed)
        for step in range(40):
            frames = frames_of(game)[1]
            playing = [info["level_seed"] for info in game.get_info()]
            for i, (steps, rows) in enumerate(zip(shard.steps, shard.rows, strict=True)):
                for row in rows[steps == step]:
                    np.testing.assert_array_equal(frames_of_split[shard.split][row], frames[i])
                    assert levels[shard.split][row] == playing[i]
                    compared += 1
            probabilities = expert.network.distribution(torch.from_numpy(np.ascontiguousarray(frames)))
            game.act(draw_actions(probabilities, random))
        game.close()
    assert compared == 190


def test_states_are_spread_over_the_play() -> None:
    shards = list(plan.shards(CollectionOptions(4, 500, 300, 0, 0)))
    steps = np.concatenate([np.concatenate(shard.steps) for shard in shards if shard.split == "train"])
    assert 0.9 < steps.mean() / ((plan.HORIZON - 1) / 2) < 1.1
    rows = {
        split: np.sort(np.concatenate([np.concatenate(s.rows) for s in shards if s.split == split]))
        for split in ("train", "test")
    }
    assert {shard.split for shard in shards} == set(rows)
    np.testing.assert_array_equal(rows["train"], np.arange(2000))  # Every row once.
    np.testing.assert_array_equal(rows["test"], np.arange(300))


def test_an_interrupted_collection_continues_to_the_same_states(
    collected: Path,
    expert: Expert,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    play, calls = collecting._play, []

    def play_then_die(number: int, *arguments: object) -> int:
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(number)
        return play(number, *arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(collecting, "_play", play_then_die)
        with pytest.raises(KeyboardInterrupt):
            collect(tmp_path, OPTIONS, expert)
    assert {path.suffix for path in tmp_path.iterdir()} == {".part", ".lock"}
    capsys.readouterr()
    path = collect(tmp_path, OPTIONS, expert)
    assert "continuing after 2 of" in capsys.readouterr().out
    for name in ARRAYS:
        assert (path / f"{name}.npy").read_bytes() == (collected / f"{name}.npy").read_bytes()


def test_what_is_there_is_not_collected_again(
    collected: Path, expert: Expert, capsys: pytest.CaptureFixture[str]
) -> None:
    assert collect(collected.parent, OPTIONS, expert) == collected
    assert capsys.readouterr().out == ""
    other = CollectionOptions(6, 20, 40, 30, seed=1)
    path = collect(collected.parent, other, expert)
    assert path != collected
    assert "collecting 190 CoinRun states" in capsys.readouterr().out
    a, b = (np.load(folder / "train_frames.npy") for folder in (path, collected))
    assert not np.array_equal(a, b)
    shutil.rmtree(path)


@pytest.mark.parametrize(
    "numbers",
    [
        (0, 1, 1, 0, 0),
        (1, 0, 1, 0, 0),
        (1, 1, 0, 0, 0),
        (1, 1, 1, -1, 0),
        (1, 1, 1, 0, -1),
        (20_000, 1, 1, 0, 0),
    ],
)
def test_bad_sizes_are_refused(numbers: tuple[int, int, int, int, int]) -> None:
    with pytest.raises(UserError, match="training levels, 40000 test levels and"):
        CollectionOptions(*numbers)


def test_a_damaged_or_missing_expert_is_named(tmp_path: Path, expert: Expert) -> None:
    with pytest.raises(UserError, match="no CoinRun expert can be read"):
        load_expert(tmp_path)
    save_expert(tmp_path, expert.network, {**expert.sheet})
    (tmp_path / "expert.pt").write_bytes((tmp_path / "expert.pt").read_bytes()[:-10])
    with pytest.raises(UserError, match="damaged"):
        load_expert(tmp_path)
