"""The data of each problem is what the thesis says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ilc.errors import UserError
from lab.experiments.distillation.mujoco_rollouts import rollouts
from lab.experiments.distillation.problems.game_of_life import GameOfLife, next_board
from lab.experiments.distillation.problems.mujoco_returns import MujocoReturns, return_bins
from lab.experiments.distillation.problems.noisy_labels import NoisyLabels
from lab.experiments.distillation.problems.noisy_privileged import NoisyPrivileged


def test_privileged_data_says_the_label_and_cannot_be_predicted() -> None:
    data = NoisyPrivileged(seed=0, n_seeds=1, n_train=[4000], dimensions=8).data.training
    signs, signed = data.privileged[0, :, :2], data.privileged[0, :, 2:]
    hidden = signs * signed
    label = (hidden[:, 0] > 0) != (hidden[:, 1] > 0)
    assert torch.equal(label, data.targets[0] > 0.5)
    # The best linear prediction of the privileged data explains nothing of it.
    solution = torch.linalg.lstsq(data.inputs[0], data.privileged[0]).solution
    explained = (data.inputs[0] @ solution).var(0) / data.privileged[0].var(0)
    assert float(explained.max()) < 0.02


def test_labels_are_drawn_from_the_distribution_that_the_privileged_data_determines() -> None:
    data = NoisyLabels(seed=0, n_seeds=1, n_train=[20_000], dimensions=16).data.training
    drawn, probabilities = data.targets[0, :, 0].long(), data.targets[0, :, 1:]
    certain = probabilities.max(1).values > 0.8
    share = (probabilities.argmax(1) == drawn)[certain].float().mean()
    assert float(share) == pytest.approx(float(probabilities.max(1).values[certain].mean()), abs=0.02)
    rank = torch.linalg.matrix_rank(data.privileged[0], rtol=1e-4)
    assert int(rank) == 4


def test_smaller_training_sets_are_the_beginning_of_larger_ones() -> None:
    problem = NoisyPrivileged(seed=3, n_seeds=2, n_train=[8, 16], dimensions=4)
    assert problem.data.names == ("n8/seed3", "n8/seed4", "n16/seed3", "n16/seed4")
    assert torch.equal(problem.data.training.inputs[0], problem.data.training.inputs[2])
    assert not torch.equal(problem.data.training.inputs[0], problem.data.training.inputs[1])
    alone = NoisyPrivileged(seed=4, n_seeds=1, n_train=[16], dimensions=4)
    assert torch.equal(alone.data.test.inputs[0], problem.data.test.inputs[3])


def test_a_board_follows_the_rules() -> None:
    board = (torch.rand(3, 9, 9) < 0.4).float()
    after = next_board(board)
    for n in range(3):
        for y in range(9):
            for x in range(9):
                around = board[n, max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].sum() - board[n, y, x]
                lives = around == 3 or (around == 2 and board[n, y, x] == 1)
                assert bool(after[n, y, x]) == bool(lives)


def test_the_frames_come_in_one_order_and_the_oracle_knows_it() -> None:
    problem = GameOfLife(seed=1, n_seeds=3, n_train=[8], steps=3, size=9)
    data = problem.data.training
    attention = problem.oracle_teacher().attention
    for replica, order in enumerate(problem.orders().tolist()):
        board = data.inputs[replica]
        for step in range(3):
            board = next_board(board)
            assert torch.equal(data.privileged[replica, :, order.index(step)], board)
            shown = attention[replica, :, 3 * step + 2].softmax(0)
            assert shown[order.index(step)].tolist() == [1.0] * problem.filters
        assert torch.equal(board[:, 4, 4], data.targets[replica])


def test_what_the_attention_found_is_told_by_step_whatever_the_order_of_the_frames() -> None:
    problem = GameOfLife(seed=1, n_seeds=3, n_train=[8], steps=3, size=9)
    found = problem.found(problem.oracle_teacher())
    for layer in range(1, 10):
        for step in range(1, 4):
            assert found[f"layer{layer}/step{step}"].tolist() == [float(step == (layer + 2) // 3)] * 3


def test_training_returns_fill_the_bins_equally_and_others_are_clipped() -> None:
    returns = torch.cat([torch.randn(3200), torch.tensor([-100.0, 100.0])])
    bins = return_bins(returns, 3200)
    counts = np.bincount(bins[:3200].numpy(), minlength=32)
    assert counts.min() >= 99
    assert bins[-2:].tolist() == [0, 31]


def test_play_is_kept_and_damage_is_named(tmp_path) -> None:
    pytest.importorskip("mujoco")
    problem = MujocoReturns(0, 2, str(tmp_path), n_train=[12], environment="Swimmer-v4", n_test=4)
    assert problem.data.training.privileged.shape == (2, 12, 16, 9)
    again, _ = rollouts(tmp_path / "mujoco", "Swimmer-v4", 16, 0)
    # The rewards add up to the returns whose bins are predicted.
    bins = return_bins(torch.from_numpy(np.array(again["rewards"])).sum(1), 12)
    assert torch.equal(problem.data.training.targets[1], bins[:12])
    file = tmp_path / "mujoco" / "Swimmer-v4-16-seed0" / "rewards.npy"
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(UserError, match="was changed after it was written: remove"):
        rollouts(tmp_path / "mujoco", "Swimmer-v4", 16, 0)


def test_unknown_environments_are_named(tmp_path) -> None:
    with pytest.raises(UserError, match="Swimmer-v4"):
        rollouts(tmp_path, "Ant-v4", 4, 0)
