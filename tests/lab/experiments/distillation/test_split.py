"""Who trains and who validates."""

from __future__ import annotations

import torch

from lab.experiments.distillation.split import Split


def test_every_training_example_comes_once_per_pass_and_none_that_validates() -> None:
    sizes = torch.tensor([10, 16])
    split = Split(sizes, share=0.25, batch_size=4)
    validation, real = split.validation()
    assert real.sum(1).tolist() == [2, 4]
    rows = split.batches(steps=12)
    assert rows.shape == (12, 2, 4)
    for replica, size in enumerate(sizes.tolist()):
        held_out = set(validation[replica][real[replica]].tolist())
        flat = rows[:, replica].flatten().tolist()
        n = size - len(held_out)
        for begin in range(0, len(flat) - n + 1, n):
            assert sorted(flat[begin : begin + n]) == sorted(set(range(size)) - held_out)


def test_a_split_is_fixed_until_it_is_redrawn() -> None:
    split = Split(torch.tensor([64]), share=0.5, batch_size=8)
    before = split.validation()[0].clone()
    split.batches(4)
    assert torch.equal(split.validation()[0], before)
    split.redraw()
    assert not torch.equal(split.validation()[0], before)


def test_baselines_train_on_everything() -> None:
    split = Split(torch.tensor([8, 8]), share=0.0, batch_size=8)
    assert split.batches(1)[0].sort(1).values.tolist() == [list(range(8))] * 2
