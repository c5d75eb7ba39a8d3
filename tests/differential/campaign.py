"""Many cases from one seed, their faults told apart and counted; can be stopped and continued."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from differential.case import Case, drawn
from differential.check import Answer
from differential.faults import features, kind_of, reproduction, run, signature, smaller
from ilc.errors import UserError


class Campaign:
    """What was found so far, in a folder.

    Attributes:
        faults: by signature: what, how often, the case, and the file that reproduces it.
        counts: cases and steps by what became of them.
        refusals: how often which message came.

    Raises:
        UserError: the record in the folder is damaged.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._file = folder, folder / "progress.json"
        known = self._read() if self._file.exists() else {}
        self.done: int = known.get("done", 0)
        self.faults: dict[str, dict[str, Any]] = known.get("faults", {})
        self.counts: Counter[str] = Counter(known.get("counts", {}))
        self.refusals: Counter[str] = Counter(known.get("refusals", {}))

    def go_on(self, n: int, seed: int, without: frozenset[str]) -> None:
        """Cases up to the ``n``-th; says where it is after every hundred."""
        start, before = time.monotonic(), self.done
        for i in range(before, n):
            case = drawn(Random(f"{seed} {i}"), without)
            self.add(case, run(case), i)
            self.done = i + 1
            if self.done % 100 == 0 or self.done == n:
                self._save()
                rate = 60 * (self.done - before) / (time.monotonic() - start)
                print(
                    f"{self.done} cases, {rate:.0f} a minute, {len(self.faults)} distinct faults, "
                    f"{dict(self.counts)}",
                    file=sys.stderr,
                    flush=True,
                )

    def add(self, case: Case, answer: Answer, i: int) -> None:
        """Count a case; a fault of a new kind is made small and written down."""
        outcome = "faulty" if answer.wrong else "compared" if answer.compared else "refused"
        self.counts[outcome if answer.wrong or answer.compared or answer.refused else "invalid"] += 1
        self.counts.update({"calls compared": answer.compared, "calls refused": len(answer.refused)})
        self.refusals.update(f"{case.way}: {message[:110]}" for message in answer.refused)
        if answer.wrong is None:
            return
        sign = self._known(case, answer)
        if sign is None:
            little = smaller(case, answer)
            reply = run(little)
            sign = signature(little, reply)
            if sign not in self.faults:
                path = self._folder / f"fault_{len(self.faults):03d}.py"
                path.write_text(reproduction(little, reply))
                self.faults[sign] = {
                    "kind": kind_of(little, reply),
                    "features": features(little),
                    "count": 0,
                    "first": i,
                    "file": str(path),
                    "case": asdict(little),
                }
        self.faults[sign]["count"] += 1
        self.faults[sign]["last"] = i

    def _known(self, case: Case, answer: Answer) -> str | None:
        """A fault of the same kind whose features this case has too."""
        own, kind = set(features(case)), kind_of(case, answer)
        return next(
            (
                sign
                for sign, one in self.faults.items()
                if one["kind"] == kind and set(one["features"]) <= own
            ),
            None,
        )

    def _read(self) -> dict[str, Any]:
        try:
            known: dict[str, Any] = json.loads(self._file.read_text())
        except ValueError as error:
            raise UserError(
                f"{self._file} is damaged ({error}): delete it to start over, or name another folder"
            ) from error
        return known

    def _save(self) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(
            json.dumps(
                {
                    "done": self.done,
                    "counts": self.counts,
                    "faults": self.faults,
                    "refusals": dict(self.refusals.most_common()),
                },
                indent=1,
            )
        )
        new.replace(self._file)
