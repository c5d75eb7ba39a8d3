"""The column of a data set that names each example's environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ilc.errors import UserError


def column(dataset: Any, name: str) -> Sequence[Any]:
    """Return the environment of each example.

    Args:
        dataset: with ``column_names`` and columns by name, as those of ``datasets``, or with dictionaries.
        name: of the column.

    Raises:
        UserError: there is no such column.
    """
    known = getattr(dataset, "column_names", None)
    if known is None:
        items = [dataset[i] for i in range(len(dataset))]
        known = list(items[0]) if items and isinstance(items[0], Mapping) else []
        found = [item[name] for item in items] if name in known else []
    else:
        # A transform would be called with this column alone, and a format may hide it.
        plain = dataset.with_format(None) if hasattr(dataset, "with_format") else dataset
        found = plain[name][:] if name in known else []
    if name not in known:
        raise UserError(
            f"train_dataset has no column {name!r} that names the environments, it has "
            f"{', '.join(map(str, known)) or 'no columns'}: give environment= the name of one"
        )
    return [value.item() if isinstance(value, Tensor) else value for value in found]
