"""CoinRun for stable-baselines3: observations, episode statistics, terminal observations, levels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from ilc.errors import UserError
from lab.experiments.coinrun.game import frames_of, make_game, make_pinned_game
from lab.experiments.coinrun.levels import (
    CLONING_TEST,
    CLONING_TRAIN,
    CLONING_VALIDATION,
    EXPERT_TRAIN,
    UNSEEN,
)
from lab.experiments.coinrun.procgen_env import CoinRunVecEnv

RIGHT_UP = 8
N = 8


@pytest.fixture
def environment() -> Iterator[CoinRunVecEnv]:
    made = CoinRunVecEnv(N, range(500, 520), "easy", seed=1)
    yield made
    made.close()


def play(environment: CoinRunVecEnv, steps: int, seed: int = 0):
    """Jump to the right, mostly; what came of each step, and the frames before it."""
    random = np.random.default_rng(seed)
    frames = environment.reset()
    for _ in range(steps):
        actions = np.where(random.random(N) < 0.7, RIGHT_UP, random.integers(0, 15, N))
        before = frames.copy()
        frames, rewards, ended, infos = environment.step(actions)
        yield before, frames, rewards, ended, infos


def test_spaces_and_frames(environment: CoinRunVecEnv) -> None:
    frames = environment.reset()
    assert environment.observation_space.shape == (3, 64, 64)
    assert environment.action_space.n == 15
    assert frames.shape == (N, 3, 64, 64)
    assert frames.dtype == np.uint8
    assert environment.observation_space.contains(frames[0])
    assert len({frame.tobytes() for frame in frames}) > 1
    assert environment.env_is_wrapped(object) == [False] * N
    assert environment.get_attr("num_envs", [0, 1]) == [N, N]


def test_frames_equal_those_of_the_game_itself(environment: CoinRunVecEnv) -> None:
    """The same seed and actions with gym3 directly, channels last: an independent walk."""
    game = make_game(N, range(500, 520), "easy", seed=1)
    first = game.observe()[1]["rgb"]
    np.testing.assert_array_equal(environment.reset().transpose(0, 2, 3, 1), first)
    random = np.random.default_rng(0)
    for _ in range(50):
        actions = random.integers(0, 15, N)
        frames, rewards, ended, _ = environment.step(actions)
        game.act(actions)
        expected_rewards, observations, first_of_episode = game.observe()
        np.testing.assert_array_equal(frames.transpose(0, 2, 3, 1), observations["rgb"])
        np.testing.assert_array_equal(rewards, expected_rewards)
        np.testing.assert_array_equal(ended, first_of_episode)


def test_episode_statistics_and_terminal_observations(environment: CoinRunVecEnv) -> None:
    returns, lengths, n_ended = np.zeros(N), np.zeros(N, dtype=int), 0
    successes = set()
    for before, frames, rewards, ended, infos in play(environment, 300):
        returns += rewards
        lengths += 1
        for i in range(N):
            if not ended[i]:
                assert infos[i] == {}
                continue
            info = infos[i]
            assert info["episode"]["r"] == returns[i]
            assert info["episode"]["l"] == lengths[i]
            assert info["is_success"] == (returns[i] == 10)
            assert info["level_seed"] in range(500, 520)
            # The last frame of the episode that ended, not the first of the next.
            np.testing.assert_array_equal(info["terminal_observation"], before[i])
            assert not np.array_equal(info["terminal_observation"], frames[i])
            assert not info["TimeLimit.truncated"]
            successes.add(info["is_success"])
            returns[i] = lengths[i] = 0
            n_ended += 1
    assert n_ended > 10
    assert successes == {False, True}


def test_an_episode_cut_off_by_time_says_so() -> None:
    environment = CoinRunVecEnv(1, range(3, 4), "easy", seed=0)
    environment.reset()
    for step in range(1, 1001):
        _, _, ended, infos = environment.step(np.array([4]))  # Stand still.
        assert bool(ended[0]) == (step == 1000)
    assert infos[0]["TimeLimit.truncated"]
    assert infos[0]["episode"]["l"] == 1000
    environment.close()


def test_reset_begins_new_episodes_and_forgets_the_old(environment: CoinRunVecEnv) -> None:
    for _ in play(environment, 5):
        pass
    environment.reset()
    lengths = np.zeros(N, dtype=int)
    for _, _, _, ended, infos in play(environment, 200, seed=3):
        lengths += 1
        for i in np.flatnonzero(ended):
            assert infos[i]["episode"]["l"] == lengths[i]
            lengths[i] = 0


def test_stable_baselines3_accepts_it() -> None:
    from stable_baselines3 import PPO

    environment = CoinRunVecEnv(2, EXPERT_TRAIN, "easy", seed=0)
    model = PPO("CnnPolicy", environment, n_steps=8, batch_size=16, n_epochs=1, device="cpu")
    model.learn(16)
    assert model.num_timesteps == 16
    environment.close()


def test_pinned_games_keep_their_levels() -> None:
    levels = [7, 3, 7, 90_000, 12]
    game = make_pinned_game(levels, "easy", seed=0)
    random = np.random.default_rng(0)
    ended = np.zeros(len(levels), dtype=int)
    first_frames = [frame.tobytes() for frame in frames_of(game)[1]]
    for _ in range(400):
        game.act(np.where(random.random(5) < 0.8, RIGHT_UP, random.integers(0, 15, 5)))
        _, frames, first = frames_of(game)
        ended += first
        assert [info["level_seed"] for info in game.get_info()] == levels
        for i in np.flatnonzero(first):
            assert frames[i].tobytes() == first_frames[i]  # The same level begins the same way.
    assert ended.sum() > 5
    assert first_frames[0] == first_frames[2] != first_frames[1]
    game.close()


def test_levels_for_different_uses_do_not_meet() -> None:
    uses = [CLONING_TRAIN, CLONING_TEST, CLONING_VALIDATION, UNSEEN, EXPERT_TRAIN]
    ranges = sorted(uses, key=lambda r: r.start)
    assert all(one.stop <= other.start for one, other in itertools.pairwise(ranges))
    game = make_game(64, EXPERT_TRAIN, "easy", seed=5)
    assert all(int(info["level_seed"]) in EXPERT_TRAIN for info in game.get_info())
    game.close()


@pytest.mark.parametrize(
    ("n", "levels", "mode"), [(0, range(5), "easy"), (1, range(0), "easy"), (1, range(5), "impossible")]
)
def test_bad_games_are_refused(n: int, levels: range, mode: str) -> None:
    with pytest.raises(UserError):
        make_game(n, levels, mode, seed=0)
