"""A small model of sets of unlike sizes, in Hugging Face's Trainer and in a plain loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from ilc.aggregators import AndMask

N = 8  # examples


class SetNet(nn.Module):
    """The mean over a set, and a loss that has another sign of gradient in each environment."""

    main_input_name = "sets"

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.linear = nn.Linear(3, 1)

    def forward(self, sets: Any, target: Any, lengths: Tensor | None = None) -> dict[str, Tensor]:
        if lengths is not None and sets.ndim == 2:  # All sets one after another.
            sets = sets.split(lengths.tolist())
        elif lengths is not None:  # Padded with zeros.
            sets = [one[:n] for one, n in zip(sets, lengths.tolist(), strict=True)]
        values = target["box"]["value"] if isinstance(target, dict) else target
        outputs = torch.stack([self.linear(one).mean() for one in sets])
        return {"loss": (outputs - torch.stack(list(values))).square().mean()}


def examples() -> list[dict[str, Any]]:
    random = torch.Generator().manual_seed(0)
    return [
        {
            "sets": torch.randn(1 + 5 * i % 8, 3, generator=random),
            "target": torch.tensor(10.0 * (i % 2) - 5),
            "domain": ("books", "films")[i % 2],
        }
        for i in range(N)
    ]


def lists(items: list[dict[str, Any]]) -> dict[str, Any]:
    """As torchvision's detectors take them."""
    return {key: [one[key] for one in items] for key in items[0]}


def nested(items: list[dict[str, Any]]) -> dict[str, Any]:
    found = lists(items)
    return {"sets": tuple(found["sets"]), "target": {"box": {"value": torch.stack(found["target"])}}}


def longest_first(items: list[dict[str, Any]]) -> dict[str, Any]:
    """As ``pack_padded_sequence`` wants them; the column survives."""
    found = lists(sorted(items, key=lambda one: -len(one["sets"])))
    lengths = torch.tensor(list(map(len, found["sets"])))
    padded = pad_sequence(found["sets"], batch_first=True)
    return found | {"sets": padded, "target": torch.stack(found["target"]), "lengths": lengths}


def joined(items: list[dict[str, Any]]) -> dict[str, Any]:
    """One row after another, without padding; the column does not survive."""
    found = longest_first(items)
    sets = torch.cat([one[:n] for one, n in zip(found["sets"], found["lengths"], strict=True)])
    return {"sets": sets, "target": found["target"], "lengths": found["lengths"]}


def risks_and_kept_of_a_plain_loop(collate: Any) -> tuple[Tensor, float]:
    """The loss of each environment's own examples, and the share of the gradient that ``AndMask`` keeps."""
    model, risks, gradients = SetNet(), [], []
    for label in ("books", "films"):
        batch = collate([one for one in examples() if one["domain"] == label])
        batch.pop("domain", None)
        risks.append(model(**batch)["loss"])
        gradients.append(torch.autograd.grad(risks[-1], list(model.parameters())))
    rows = torch.stack([torch.cat([g.flatten() for g in one]) for one in gradients])
    return torch.stack(risks).detach(), float((rows.sign().sum(0).abs() == 2).float().mean())


def trainer(folder: Path, collate: Any, data: Any = None, **options: Any) -> Any:
    """One that has all examples in each of its updates, and whose model stays as it is."""
    from transformers import TrainingArguments

    from ilc.integrations import EnvironmentTrainer

    chosen = {"per_device_train_batch_size": N, "max_steps": 1, "learning_rate": 0.0, "use_cpu": True}
    chosen |= {
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "remove_unused_columns": False,
    }
    return EnvironmentTrainer(
        SetNet(),
        TrainingArguments(str(folder), **chosen | options),
        train_dataset=examples() if data is None else data,
        data_collator=collate,
        aggregator=AndMask(1.0),
        environment="domain",
    )
