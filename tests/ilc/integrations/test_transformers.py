"""Hugging Face's Trainer with votes makes the updates of a plain loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from expected_training import flat, plain_update
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import IterableDataset

from ilc.aggregators import Aggregator, AndMask, Iga, Mean
from ilc.errors import UserError

transformers = pytest.importorskip("transformers", reason="needs the extra: pip install 'ilc[transformers]'")
pytest.importorskip("accelerate", reason="needs the extra: pip install 'ilc[accelerate]'")

pytestmark = pytest.mark.slow  # Importing the packages takes longer than the tests.
MASK = AndMask(agreement_threshold=0.8)
DOMAINS = ["books", "films", "shops", "films", "books", "games"]
LENGTH = 8


def text(i: int) -> dict[str, Any]:
    """An example with padding, whose label is whether its first word is among the first ten."""
    random = torch.Generator().manual_seed(i)
    n = int(torch.randint(3, LENGTH + 1, (), generator=random))
    ids = torch.randint(1, 20, (LENGTH,), generator=random)
    mask = (torch.arange(LENGTH) < n).long()
    return {"input_ids": ids * mask, "attention_mask": mask, "labels": int(ids[0] < 10)}


DATA = [{**text(i), "domain": DOMAINS[i % len(DOMAINS)]} for i in range(36)]


class Columns:
    """Data with named columns, as those of ``datasets``; the item at a name is a column."""

    @property
    def column_names(self) -> list[str]:
        return list(DATA[0])

    def __len__(self) -> int:
        return len(DATA)

    def __getitem__(self, key: Any) -> Any:
        return [one[key] for one in DATA] if isinstance(key, str) else DATA[key]


def bert() -> nn.Module:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(vocab_size=20, **sizes, max_position_embeddings=16)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    return transformers.BertForSequenceClassification(config)


def arguments(folder: Path, **options: Any) -> Any:
    chosen = {"per_device_train_batch_size": 12, "max_steps": 4, "learning_rate": 0.01, "seed": 3}
    chosen |= {"report_to": "none", "use_cpu": True, "disable_tqdm": True, "save_strategy": "no"}
    return transformers.TrainingArguments(str(folder), **chosen | {"logging_steps": 1} | options)


def trainer(
    folder: Path, aggregator: Any = MASK, data: Any = DATA, column: str = "domain", **options: Any
) -> Any:
    from ilc.integrations import EnvironmentTrainer

    own = {key: options.pop(key) for key in ("compute_loss_func", "eval_dataset") if key in options}
    return EnvironmentTrainer(
        bert(),
        arguments(folder, **options),
        train_dataset=data,
        aggregator=aggregator,
        environment=column,
        **own,
    )


def plain_training(aggregator: Aggregator, steps: int = 4, examples: int = 3) -> list[Tensor]:
    """AdamW with Trainer's linear schedule and clipping, with each environment's own examples in turn."""
    from ilc.integrations import EnvironmentSampler

    model = bert()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    sampler = EnvironmentSampler([one["domain"] for one in DATA], examples, seed=3)
    order: list[int] = []
    while len(order) < steps * 4 * examples:
        order += sampler
    for step in range(steps):
        losses = []
        for e in range(4):
            start = (step * 4 + e) * examples
            rows = [DATA[i] for i in order[start : start + examples]]
            ids, mask = (torch.stack([row[key] for row in rows]) for key in ("input_ids", "attention_mask"))
            outputs = model(input_ids=ids, attention_mask=mask)
            losses.append(F.cross_entropy(outputs.logits, torch.tensor([row["labels"] for row in rows])))
        plain_update(model, losses, aggregator)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return [p.detach() for p in model.parameters()]


def assert_trained_alike(ours: nn.Module, plain: list[Tensor]) -> None:
    end = flat(plain)
    for other in (list(bert().parameters()), plain_training(Mean())):
        assert (end - flat(other)).norm() > 0.1
    torch.testing.assert_close(flat(list(ours.parameters())), end, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_updates_are_those_of_a_plain_loop(tmp_path: Path, steps: int) -> None:
    """Also with the environments in two micro-batches, and with each in one of its own."""
    ours = trainer(tmp_path, per_device_train_batch_size=12 // steps, gradient_accumulation_steps=steps)
    done = ours.train()
    assert done.global_step == 4
    assert_trained_alike(ours.model, plain_training(MASK))
    assert ours.result.risks.shape == (4,) and 0 < ours.result.overall_kept_share < 1
    (logged,) = (line["loss"] for line in ours.state.log_history if line.get("step") == 4 and "loss" in line)
    assert abs(logged - float(ours.result.risks.mean())) < 1e-3


def test_data_with_columns_and_a_loss_of_the_users(tmp_path: Path) -> None:
    def loss(outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
        assert labels.shape == (3,) and num_items_in_batch is None
        return F.cross_entropy(outputs["logits"], labels)

    ours = trainer(tmp_path, data=Columns(), compute_loss_func=loss)
    ours.train()
    assert_trained_alike(ours.model, plain_training(MASK))


def test_the_model_does_not_see_the_column(tmp_path: Path) -> None:
    numbered = [{**one, "domain": sorted(set(DOMAINS)).index(one["domain"])} for one in DATA]
    ours = trainer(tmp_path, data=numbered, remove_unused_columns=False, activation_checkpointing=True)
    given: set[str] = set()
    ours.model.register_forward_pre_hook(lambda _, args, named: given.update(named), with_kwargs=True)
    ours.train()
    assert given == {"input_ids", "attention_mask", "labels"}
    assert_trained_alike(ours.model, plain_training(MASK))


def test_in_bfloat16(tmp_path: Path) -> None:
    ours = trainer(tmp_path, bf16=True)
    ours.train()
    end, start = flat(plain_training(MASK)), flat(list(bert().parameters()))
    assert 0 < (flat(list(ours.model.parameters())) - end).norm() < 0.5 * (end - start).norm()


def test_a_training_that_continues_ends_as_one_that_was_not_stopped(tmp_path: Path) -> None:
    """Three updates are an epoch, so that it stops in the middle of the second one."""
    once = {"max_steps": 8, "save_strategy": "steps", "save_steps": 5, "gradient_accumulation_steps": 2}
    once |= {"per_device_train_batch_size": 6, "lr_scheduler_type": "constant"}
    whole = trainer(tmp_path / "whole", **once)
    whole.train()
    first = trainer(tmp_path / "halves", **once | {"max_steps": 5})
    first.train()
    second = trainer(tmp_path / "halves", **once)
    second.train(resume_from_checkpoint=str(tmp_path / "halves" / "checkpoint-5"))
    assert torch.equal(flat(list(whole.model.parameters())), flat(list(second.model.parameters())))
    assert not torch.equal(flat(list(first.model.parameters())), flat(list(second.model.parameters())))


def test_environments_of_an_interrupted_training_do_not_vote_in_the_next(tmp_path: Path) -> None:
    ours = trainer(tmp_path, per_device_train_batch_size=6, gradient_accumulation_steps=2)
    votes = ours.training_step

    def interrupted(*args: Any, **kwargs: Any) -> None:
        votes(*args, **kwargs)
        raise InterruptedError

    ours.training_step = interrupted
    with pytest.raises(InterruptedError):
        ours.train()
    ours.training_step = votes
    ours.train()
    assert ours.result.risks.shape == (4,)
    assert_trained_alike(ours.model, plain_training(MASK))


def search(ours: Any, **chosen: Any) -> nn.Module:
    """The model of the only training of a search."""
    pytest.importorskip("optuna")
    model = bert()
    ours.model_init = lambda: model
    ours.hyperparameter_search(
        lambda _: chosen, n_trials=1, backend="optuna", compute_objective=lambda _: 0.0
    )
    return model


def test_every_training_of_a_search_has_votes_of_its_own(tmp_path: Path) -> None:
    """Trainer makes another accelerator for each."""
    ours = trainer(tmp_path, eval_dataset=DATA, eval_strategy="epoch")
    model = search(ours, per_device_train_batch_size=6, gradient_accumulation_steps=2)
    assert ours._votes._accelerator is ours.accelerator
    assert_trained_alike(model, plain_training(MASK))


def test_a_search_does_not_get_around_a_refusal(tmp_path: Path) -> None:
    ours = trainer(tmp_path, eval_dataset=DATA, eval_strategy="epoch")
    with pytest.raises(UserError, match="optim='lomo' makes its steps inside the backward pass"):
        search(ours, optim="lomo")


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(DATA)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"aggregator": AndMask}, "must be an instance, got the class AndMask"),
        ({"column": "source"}, "no column 'source' that names the environments, it has input_ids, attention"),
        (
            {"column": "source", "data": Columns()},
            "no column 'source' that names the environments, it has input",
        ),
        ({"data": [one for one in DATA if one["domain"] == "films"]}, "the labels name 1 environment"),
        ({"data": Stream()}, "an IterableDataset gives them in its own order"),
        ({"per_device_train_batch_size": 10}, "4 environments do not fit into gradient_accumulation_steps=1"),
        ({"gradient_accumulation_steps": 3}, "4 environments do not fit into gradient_accumulation_steps=3"),
        ({"train_sampling_strategy": "sequential"}, "each ask for an order of the examples: leave it"),
        ({"aggregator": Iga(1.0)}, "Iga makes its own passes, and loss_fn is a list of losses"),
        ({"optim": "lomo"}, "optim='lomo' makes its steps inside the backward pass"),
    ],
)
def test_wrong_uses_are_one_line(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        trainer(tmp_path, **given).train()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("world_size", "n_gpu"), [(2, 1), (1, 2)])
def test_several_devices_are_refused(
    tmp_path: Path, world_size: int, n_gpu: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = transformers.TrainingArguments
    monkeypatch.setattr(kind, "world_size", property(lambda self: world_size))
    monkeypatch.setattr(kind, "n_gpu", property(lambda self: n_gpu))
    with pytest.raises(UserError, match=f"on one device, got {world_size} processes and {n_gpu} GPUs"):
        trainer(tmp_path)
