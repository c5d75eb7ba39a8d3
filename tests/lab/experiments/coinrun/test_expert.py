"""Training of the expert in miniature, and the expert that comes with the package."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from ilc.errors import UserError
from lab.experiments.coinrun.expert import SHIPPED, load_expert, save_expert
from lab.experiments.coinrun.expert_options import ExpertOptions
from lab.experiments.coinrun.expert_patches import PatchVecEnv
from lab.experiments.coinrun.expert_training import network_of, policy_settings, train_expert
from lab.experiments.coinrun.game import frames_of
from lab.experiments.coinrun.levels import EXPERT_TRAIN, UNSEEN
from lab.experiments.coinrun.network import ExpertNetwork, image_of, patches
from lab.experiments.coinrun.play import draw_actions, random_policy, returns_on
from lab.experiments.coinrun.procgen_env import CoinRunVecEnv

CPU = torch.device("cpu")


def test_training_continues_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: ExpertOptions
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first, frames = train_expert(options, tmp_path, CPU)
    assert frames == 512
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert state["frames"] == 512
    same, _ = train_expert(options, tmp_path, CPU)  # Nothing is left to do.
    for a, b in zip(first.parameters(), same.parameters(), strict=True):
        assert torch.equal(a, b)
    longer, _ = train_expert(dataclasses.replace(options, frames=2048), tmp_path, CPU)
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert state["frames"] == 2048
    assert any(not torch.equal(a, b) for a, b in zip(first.parameters(), longer.parameters(), strict=True))
    curve = pd.read_csv(tmp_path / "curve.csv")["frames"]
    assert curve.is_monotonic_increasing
    assert curve.is_unique
    # stable-baselines3 makes folders SB3-... for logs that nobody reads, if allowed to.
    assert not list(tmp_path.glob("SB3-*"))


def test_patches_are_squares_of_the_frame_and_their_image_has_them_in_place() -> None:
    frames = torch.arange(2 * 3 * 64 * 64).reshape(2, 3, 64, 64)
    image = image_of(patches(frames))
    assert image.shape == (2, 48, 16, 16)
    for n, row, column in [(0, 0, 0), (1, 3, 15), (1, 9, 4)]:
        square = frames[n, :, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
        assert torch.equal(image[n, :, row, column], square.permute(1, 2, 0).flatten())


def test_games_observed_as_patches_are_the_same_games() -> None:
    plain = CoinRunVecEnv(4, range(500, 520), "hard", seed=0)
    cut = PatchVecEnv(CoinRunVecEnv(4, range(500, 520), "hard", seed=0))
    random = np.random.default_rng(0)
    seen = [(plain.reset(), cut.reset())]
    for _ in range(80):
        actions = np.where(random.random(4) < 0.7, 8, random.integers(0, 15, 4))  # Mostly jumps to the right.
        frames, rewards, ended, infos = plain.step(actions)
        squares, rewards_too, ended_too, infos_too = cut.step(actions)
        np.testing.assert_array_equal(rewards, rewards_too)
        np.testing.assert_array_equal(ended, ended_too)
        seen.append((frames, squares))
        for info, info_too in zip(infos, infos_too, strict=True):
            if "episode" in info:
                seen.append((info["terminal_observation"][None], info_too["terminal_observation"][None]))
    assert len(seen) > 81
    for frames, squares in seen:
        assert cut.observation_space.contains(squares[0])
        np.testing.assert_array_equal(squares, patches(torch.from_numpy(frames)).numpy())
    plain.close()
    cut.close()


@pytest.mark.parametrize(("blocks", "bfloat16"), [(0, False), (1, False), (2, True)])
def test_our_network_gives_the_policys_distribution(
    blocks: int, bfloat16: bool, options: ExpertOptions
) -> None:
    from stable_baselines3 import PPO

    games = CoinRunVecEnv(4, EXPERT_TRAIN, "hard", seed=0)
    environment = PatchVecEnv(games) if blocks else games
    options = dataclasses.replace(options, blocks=blocks, bfloat16=bfloat16)
    kwargs = policy_settings(options)
    torch.manual_seed(0)
    policy: Any = PPO(
        "CnnPolicy", environment, n_steps=4, batch_size=16, policy_kwargs=kwargs, device="cpu"
    ).policy
    with torch.no_grad():
        policy.action_net.weight.mul_(1e4)  # Else all actions are nearly alike.
    observations = torch.from_numpy(environment.reset().copy())
    frames = torch.from_numpy(frames_of(games._game)[1])
    expected = policy.get_distribution(observations).distribution.probs
    ours = network_of(policy, options).distribution(frames)
    assert (ours > 1.2 / 15).any()
    relative, absolute = (0.05, 0.005) if bfloat16 else (1e-4, 1e-6)
    torch.testing.assert_close(ours, expected, rtol=relative, atol=absolute)
    environment.close()


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path, options: ExpertOptions) -> None:
    train_expert(options, tmp_path, CPU)
    with pytest.raises(UserError, match="training cannot continue from"):
        train_expert(dataclasses.replace(options, width=3, frames=1024), tmp_path, CPU)


@pytest.mark.parametrize(
    "wrong", [{"frames": 0}, {"minibatches": 7}, {"gamma": 1.5}, {"seed": -1}, {"blocks": -1}]
)
def test_bad_options_are_named(wrong: dict[str, float], options: ExpertOptions) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        dataclasses.replace(options, **wrong)  # type: ignore[arg-type]


def test_actions_follow_the_probabilities() -> None:
    probabilities = torch.tensor([[0.5, 0.0, 0.3, 0.2]]).expand(20_000, -1)
    counts = np.bincount(draw_actions(probabilities, np.random.default_rng(0)), minlength=4) / 20_000
    np.testing.assert_allclose(counts, [0.5, 0.0, 0.3, 0.2], atol=0.015)


def test_the_shipped_expert_is_small_and_plain() -> None:
    expert = load_expert()
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 5e6
    state = torch.load(SHIPPED / "expert.pt", weights_only=True)
    assert all(isinstance(value, torch.Tensor) for value in state.values())
    assert isinstance(expert.network, ExpertNetwork)
    assert expert.sheet["evaluated_levels"] >= 500
    first, last = expert.sheet["levels_evaluated_on"]
    assert last < expert.sheet["levels_trained_on"][0]
    assert last - first + 1 == expert.sheet["evaluated_levels"]


def test_an_expert_is_kept_in_half_precision_and_read_in_single(tmp_path: Path) -> None:
    network = ExpertNetwork(8, 32, 1)
    sheet = {"width": 8, "features": 32, "blocks": 1}
    save_expert(tmp_path, network, sheet)
    assert {value.dtype for value in torch.load(tmp_path / "expert.pt", weights_only=True).values()} == {
        torch.float16
    }
    once = load_expert(tmp_path).network
    frames = torch.randint(0, 256, (5, 3, 64, 64), dtype=torch.uint8)
    torch.testing.assert_close(once.distribution(frames), network.distribution(frames), rtol=0, atol=1e-3)
    save_expert(tmp_path, once, sheet)
    again = load_expert(tmp_path).network
    assert torch.equal(again.distribution(frames), once.distribution(frames))


@pytest.mark.slow
def test_the_shipped_expert_solves_twice_as_many_unseen_levels_as_chance() -> None:
    """Levels that its sheet does not count, 100 of them: it is far from a tie."""
    expert = load_expert()
    levels = UNSEEN[5000:5100]
    solved, by_chance = (
        (returns_on(policy, levels, expert.sheet["mode"]) > 0).mean()
        for policy in (expert.network.distribution, random_policy)
    )
    assert solved >= 2 * by_chance
    assert abs(solved - expert.sheet["success_rate"]) < 0.15
    assert expert.sheet["success_rate"] >= 2 * expert.sheet["success_rate_of_a_random_policy"]
