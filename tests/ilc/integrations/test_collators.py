"""Whatever a data collator makes, the votes are those of each environment's own examples."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from trainer_of_sets import (
    N,
    examples,
    joined,
    lists,
    longest_first,
    nested,
    risks_and_kept_of_a_plain_loop,
    trainer,
)

from ilc.errors import UserError

pytest.importorskip("transformers", reason="needs the extra: pip install 'ilc[transformers]'")
pytest.importorskip("accelerate", reason="needs the extra: pip install 'ilc[accelerate]'")

pytestmark = pytest.mark.slow  # Importing the packages takes longer than the tests.


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("collate", [lists, nested, longest_first, joined])
def test_votes_are_those_of_a_plain_loop(tmp_path: Path, collate: Any, steps: int) -> None:
    ours = trainer(
        tmp_path, collate, per_device_train_batch_size=N // steps, gradient_accumulation_steps=steps
    )
    ours.train()
    risks, kept = risks_and_kept_of_a_plain_loop(collate)
    torch.testing.assert_close(ours.result.risks, risks)
    assert abs(risks[0] - risks[1]) > 1
    assert abs(float(ours.result.overall_kept_share) - kept) < 1e-6 and kept < 1


def test_columns_that_are_removed_before_the_collator(tmp_path: Path) -> None:
    def collate(items: list[dict[str, Any]]) -> dict[str, Any]:
        assert "domain" not in items[0]
        return joined(items)

    ours = trainer(tmp_path, collate, remove_unused_columns=True)
    ours.train()
    torch.testing.assert_close(ours.result.risks, risks_and_kept_of_a_plain_loop(joined)[0])


def test_batches_of_any_class_with_a_loss_of_the_users(tmp_path: Path) -> None:
    """Nothing but the user's own code knows what is in them; ``Trainer`` asks for a length and ``in``."""

    class Sets:
        def __init__(self, items: list[dict[str, Any]]) -> None:
            self.items = items

        def __len__(self) -> int:
            return len(self.items)

        def __contains__(self, key: str) -> bool:
            return False

    ours = trainer(tmp_path, Sets)
    ours.compute_loss = lambda model, batch: model(
        [one["sets"] for one in batch.items], [one["target"] for one in batch.items]
    )["loss"]
    ours.train()
    torch.testing.assert_close(ours.result.risks, risks_and_kept_of_a_plain_loop(lists)[0])


def test_evaluation_has_the_collator_and_its_whole_batches(tmp_path: Path) -> None:
    sizes: list[int] = []

    def collate(items: list[dict[str, Any]]) -> dict[str, Any]:
        sizes.append(len(items))
        return nested(items)

    ours = trainer(tmp_path, collate)
    ours.train()
    assert ours.data_collator is collate and sizes == [N // 2, N // 2]
    ours.evaluate(examples())
    assert sizes[2:] == [N]


def test_operations_and_tokens_are_counted(tmp_path: Path) -> None:
    ours = trainer(tmp_path, joined, include_num_input_tokens_seen="all")
    ours.model.num_parameters = lambda exclude_embeddings: 4
    ours.train()
    numbers = sum(one["sets"].numel() for one in examples())
    assert ours.state.num_input_tokens_seen == numbers
    assert ours.state.total_flos == 6 * 4 * numbers


def test_the_collator_goes_to_other_processes(tmp_path: Path) -> None:
    collate = pickle.loads(pickle.dumps(trainer(tmp_path, lists).get_train_dataloader().collate_fn))
    assert [one["domain"] for one in collate(examples())] == [
        ["books", "films"] * 2,
        ["books", "films"] * 2,
    ]


class Unread(list[dict[str, Any]]):
    """Data that leave out the examples that they cannot read."""

    def __getitems__(self, numbers: list[int]) -> list[dict[str, Any]]:
        return [self[i] for i in numbers if i != 2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"data": Unread(examples())}, "train_dataset gave 7 examples where 8 were asked for"),
        ({"accelerator_config": {"dispatch_batches": True}}, "dispatch_batches=True, which cuts whatever"),
        (
            {"gradient_accumulation_steps": 2, "dataloader_in_order": False},
            "dataloader_in_order=False an environment may vote twice",
        ),
        ({"data": [{**one, "domain": ["books"]} for one in examples()]}, "example 0 is a list, which cannot"),
    ],
)
def test_what_could_mix_environments_is_one_line(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        trainer(tmp_path, lists, **given).train()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("batch", [{"sets": torch.zeros(N, 3)}, [torch.zeros(N, 3), torch.zeros(N)]])
def test_batches_of_another_loader_are_refused(tmp_path: Path, batch: Any) -> None:
    """A list of inputs and targets would otherwise be two environments."""
    ours = trainer(tmp_path, lists)

    def other() -> Any:
        return torch.utils.data.DataLoader([batch], batch_size=None)

    ours.get_train_dataloader = other
    with pytest.raises(UserError, match="a batch per environment, as its own get_train_dataloader") as error:
        ours.train()
    assert "\n" not in str(error.value)
    assert isinstance(batch, dict) or isinstance(batch[0], Tensor)
