"""Curves short enough for a page that opens at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lab.report.run_record import Record

NUMBERS = 300_000
"""As many numbers all curves together may hold, about two megabytes."""

LEAST = 20
"""Evaluations that every run keeps, however many there are."""


def thinned(records: Sequence[Record], numbers: int = NUMBERS) -> tuple[list[Record], int]:
    """The records with curves of at most so many numbers, and how many runs lost evaluations to that.

    Runs with few evaluations keep all; of the others the same number is kept, evenly spaced, the first and
    the last among them.
    """
    limit = _limit(records, numbers)
    short = [record for record in records if _length(record) <= limit]
    if len(short) == len(records):
        return list(records), 0
    return [_shortened(record, limit) for record in records], len(records) - len(short)


def _limit(records: Sequence[Record], numbers: int) -> int:
    """The greatest number of evaluations per run with which all runs fit, at least ``LEAST``."""
    low, high = LEAST, max([LEAST, *map(_length, records)])
    while low < high:
        middle = (low + high + 1) // 2
        if sum(len(record.curves) * min(middle, _length(record)) for record in records) <= numbers:
            low = middle
        else:
            high = middle - 1
    return low


def _length(record: Record) -> int:
    return len(next(iter(record.curves.values()), []))


def _shortened(record: Record, limit: int) -> Record:
    length = _length(record)
    if length <= limit:
        return record
    kept = [round(i * (length - 1) / (limit - 1)) for i in range(limit)]
    return replace(record, curves={name: [values[i] for i in kept] for name, values in record.curves.items()})
