"""Sums of signs survive the journey in few bytes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ilc._processes import Processes
from ilc.distributed._shards.reduce_scatter import votes_by_shard
from ilc.distributed._votes import packed, unpacked


@given(st.integers(1, 40_000), st.integers(0, 9), st.integers(1, 5), st.integers(0, 2**31))
def test_sums_of_messages_are_messages_of_sums(n: int, size: int, processes: int, seed: int) -> None:
    """However the environments are spread over the processes, at the extremes too."""
    generator = torch.Generator().manual_seed(seed)
    parts = [Processes(rank, processes).part(n) for rank in range(processes)]
    shares = [part.stop - part.start for part in parts]
    sums = [
        torch.randint(-share, share + 1, (size,), generator=generator)
        if seed % 2
        else torch.full((size,), share * (-1) ** (seed // 2))
        for share in shares
    ]
    messages = [packed(each.float(), n) for each in sums]
    total = messages[0].clone()
    for message in messages[1:]:
        total += message
    assert torch.equal(unpacked(total, size, n).long(), torch.stack(sums).sum(0))


@pytest.mark.parametrize(("n", "bytes_per_vote"), [(1, 1), (127, 1), (128, 2), (32_767, 2), (32_768, 4)])
def test_in_the_fewest_bytes(n: int, bytes_per_vote: int) -> None:
    message = packed(torch.zeros(1000), n)
    assert message.numel() * message.element_size() == 1000 * bytes_per_vote


def test_a_gradient_that_is_no_number_casts_no_vote() -> None:
    assert unpacked(packed(torch.tensor([float("nan"), 2.0]), 3), 2, 3).tolist() == [0, 2]


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_parts_are_even_and_complete(size: int) -> None:
    for n in range(20):
        parts = [range(n)[Processes(rank, size).part(n)] for rank in range(size)]
        assert [i for part in parts for i in part] == list(range(n))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("size", [1, 2, 127, 128, 131])
def test_votes_by_shard_are_cut_at_the_shards(size: int) -> None:
    """Messages of R processes added up, of which process r receives the r-th part."""
    gradients = torch.randn(size, size * 5, generator=torch.Generator().manual_seed(size))
    gradients[:, 3] = 1  # All agree.
    gradients[0, 7 % (size * 5)] = float("nan")
    total = torch.stack([votes_by_shard(one, size).long() for one in gradients]).sum(0)
    parts = total.to(torch.int32 if size > 127 else torch.int8).view(size, -1)
    found = torch.cat([unpacked(part, 5, size).long() for part in parts])
    assert torch.equal(found, gradients.sign().nan_to_num(0.0).sum(0).long())
