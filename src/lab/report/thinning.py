"""Shortens curves, so that the page opens at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lab.report.run_record import Record

NUMBERS = 300_000
"""The most numbers in all curves together, about two megabytes."""

LEAST = 20
"""The number of evaluations that every run keeps, however many runs there are."""


def thinned(records: Sequence[Record], numbers: int = NUMBERS) -> tuple[list[Record], int]:
    """Shorten the curves to this many numbers in all; also return the number of runs that were shortened.

    Runs with few evaluations keep all of them. Every other run keeps the same number of evaluations, evenly
    spaced, with the first and the last one.
    """
    limit = _limit(records, numbers)
    short = [record for record in records if _length(record) <= limit]
    if len(short) == len(records):
        return list(records), 0
    return [_shortened(record, limit) for record in records], len(records) - len(short)


def _limit(records: Sequence[Record], numbers: int) -> int:
    """Return the largest number of evaluations per run with which all runs fit; at least ``LEAST``."""
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
