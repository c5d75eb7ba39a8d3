"""The column of environments is read from data of the package ``datasets``, or of a stand-in without it."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from trainer_of_sets import N, examples, lists, risks_and_kept_of_a_plain_loop, trainer

from ilc.errors import UserError
from ilc.integrations._column import column

transformers = pytest.importorskip("transformers", reason="needs the extra: pip install 'ilc[transformers]'")
pytest.importorskip("accelerate", reason="needs the extra: pip install 'ilc[accelerate]'")

pytestmark = pytest.mark.slow  # Importing the packages takes longer than the tests.


class StandIn:
    """What ``Trainer`` and ``EnvironmentTrainer`` use of ``datasets.Dataset``, with the same answers."""

    def __init__(self, rows: list[dict[str, Any]], transform: Callable[[Any], Any] | None = None) -> None:
        self._rows, self._transform = rows, transform

    @property
    def column_names(self) -> list[str]:
        return list(self._rows[0])

    def remove_columns(self, names: list[str]) -> StandIn:
        rows = [{key: value for key, value in row.items() if key not in names} for row in self._rows]
        return StandIn(rows, self._transform)

    def with_transform(self, transform: Callable[[Any], Any] | None) -> StandIn:
        return StandIn(self._rows, transform)

    with_format = with_transform

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            column = {key: [row[key] for row in self._rows]}
            return (self._transform(column) if self._transform else column)[key]
        return self.__getitems__([key])[0]

    def __getitems__(self, numbers: list[int]) -> list[dict[str, Any]]:
        batch = lists([self._rows[i] for i in numbers])
        batch = self._transform(batch) if self._transform else batch
        return [dict(zip(batch, row, strict=True)) for row in zip(*batch.values(), strict=True)]


@pytest.fixture(params=["stand-in", "datasets"])
def data(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The examples as lists of numbers, which a table can hold."""
    rows = [{**one, "sets": one["sets"].tolist(), "target": float(one["target"])} for one in examples()]
    if request.param == "datasets":
        real = pytest.importorskip("datasets", reason="needs datasets: pip install datasets")
        table = pytest.importorskip("pyarrow").Table.from_pylist(rows)
        # from_list makes the fingerprint with dill, which cannot pickle a class of some releases of pyarrow.
        yield real.Dataset(real.table.InMemoryTable(table), fingerprint="rows")
        return
    if find_spec("datasets") is not None:
        pytest.skip("the package itself is here")
    package = SimpleNamespace(Dataset=StandIn, __version__="5.0.1")
    monkeypatch.setattr(transformers.trainer, "datasets", package, raising=False)
    monkeypatch.setattr(transformers.trainer, "is_datasets_available", lambda: True)
    yield StandIn(rows)


def collate(items: list[dict[str, Any]]) -> dict[str, list[Tensor]]:
    return {key: [torch.as_tensor(one[key]) for one in items] for key in ("sets", "target")}


def as_tensors(batch: dict[str, Any]) -> dict[str, Any]:
    """A transform that needs all columns."""
    return {key: list(map(torch.as_tensor, batch[key])) for key in ("sets", "target")}


@pytest.mark.parametrize("removed", [True, False])
def test_default_arguments(tmp_path: Path, data: Any, removed: bool) -> None:
    seen: list[int] = []

    def watched(items: list[dict[str, Any]]) -> dict[str, Any]:
        assert ("domain" in items[0]) is not removed
        seen.append(len(items))
        return collate(items)

    ours = trainer(tmp_path, watched, data, remove_unused_columns=removed)
    ours.train()
    assert seen == [N // 2, N // 2]
    torch.testing.assert_close(ours.result.risks, risks_and_kept_of_a_plain_loop(lists)[0])


def test_a_transform_is_not_called_for_the_column(tmp_path: Path, data: Any) -> None:
    ours = trainer(tmp_path, collate, data.with_transform(as_tensors))
    ours.train()
    torch.testing.assert_close(ours.result.risks, risks_and_kept_of_a_plain_loop(lists)[0])


def test_a_column_that_is_not_there_is_named_beside_all_that_are(tmp_path: Path, data: Any) -> None:
    ours = trainer(tmp_path, collate, data.remove_columns(["domain"]), remove_unused_columns=True)
    with pytest.raises(
        UserError, match="no column 'domain' that names the environments, it has sets, target"
    ):
        ours.train()


def test_examples_may_be_any_mapping() -> None:
    """A tokenizer returns one that is no dictionary."""
    mappings = [UserDict(one) for one in examples()]
    assert column(mappings, "domain") == [one["domain"] for one in examples()]


def test_data_that_are_not_those_of_the_column(tmp_path: Path) -> None:
    ours = trainer(tmp_path, collate)
    with pytest.raises(UserError, match="train_dataset has 8 examples, but training would draw from 5") as e:
        ours._get_train_sampler(examples()[:5])
    assert "\n" not in str(e.value)
