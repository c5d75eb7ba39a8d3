"""From a random case to a distinct fault: run, made small, signed, written down."""

from __future__ import annotations

import re
import signal
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from differential import check as checking
from differential.case import Case
from differential.check import Answer, check
from differential.written import fitting, source
from ilc.verification import _comparison as comparison
from ilc.verification import _plain_loop as plain_loop
from ilc.verification import _possible_sums as possible_sums
from ilc.verification import _rounding as rounding

SECONDS = 60
"""After which a case hangs."""


class TooSlow(Exception):
    """A case took too long."""


def _ring(number: int, frame: FrameType | None) -> None:
    raise TooSlow


def run(case: Case) -> Answer:
    """The case's answer; a hang is a difference too."""
    return run_source(source(case))


def run_source(text: str) -> Answer:
    program: dict[str, Any] = {"__name__": "case"}
    signal.signal(signal.SIGALRM, _ring)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, "case", "exec"), program)
            return check(program)
    except TooSlow:
        return Answer(wrong=(0, "hangs", f"after {SECONDS} s"))
    finally:
        signal.alarm(0)
        torch.set_autocast_enabled("cpu", False)


def kind_of(case: Case, answer: Answer) -> str:
    """What is wrong, without numbers and names of its own."""
    assert answer.wrong is not None
    _, kind, detail = answer.wrong
    if kind.startswith(("exception", "a refusal")):
        kind += ": " + re.sub(r"\d+", "#", " ".join(detail.split()))[:60]
    return f"{case.way}: {kind}"


def signature(case: Case, answer: Answer) -> str:
    """The kind, and the features of a case that was made small."""
    return f"{kind_of(case, answer)} | {', '.join(features(case)) or 'nothing else'}"


def features(case: Case) -> list[str]:
    """All that is not the plainest choice."""
    names = [name for _, name in fitting(case)] + [name for _, name in case.features]
    later = [name for step in case.steps for _, name in step.changes]
    found = sorted(set(names)) + [f"then {name}" for name in sorted(set(later))]
    if len(case.steps) > 1 and not later:
        found.append("a second step")
    if case.loss != "cross-entropy":
        found.append(f"loss {case.loss}")
    if case.mode != "train":
        found.append(case.mode)
    if case.dtype not in ("float64", "float32"):
        found.append(case.dtype)
    if case.aggregator != "AndMask":
        found.append(case.aggregator)
    if len(set(case.steps[-1].n)) > 1:
        found.append("unequal environments")
    odd = {step.odd for step in case.steps} - {"" if case.loss == "ignored labels" else "ignored", ""}
    return found + sorted(odd)


def smaller(case: Case, answer: Answer) -> Case:
    """The same kind of fault with as little as possible, one thing left out at a time."""
    kind = kind_of(case, answer)
    case = replace(case, pieces=fitting(case))
    again = True
    while again:
        again = False
        for other in _one_less(case):
            try:
                reply = run(other)
            except Exception:
                continue
            if reply.wrong is not None and kind_of(other, reply) == kind:
                case, again = other, True
                break
    return case


def _one_less(case: Case) -> Iterator[Case]:
    for i in reversed(range(len(case.steps))):
        if len(case.steps) > 1:
            yield replace(case, steps=case.steps[:i] + case.steps[i + 1 :])
    for i in range(len(case.pieces)):
        yield replace(case, pieces=case.pieces[:i] + case.pieces[i + 1 :])
    for i in range(len(case.features)):
        yield replace(case, features=case.features[:i] + case.features[i + 1 :])
    for i, step in enumerate(case.steps):
        others = [
            replace(step, changes=step.changes[:j] + step.changes[j + 1 :]) for j in range(len(step.changes))
        ]
        if step.odd:
            others.append(replace(step, odd=""))
        if len(set(step.n)) > 1:
            others.append(replace(step, n=(step.n[0],) * len(step.n)))
        if len(step.n) > 2:
            others.append(replace(step, n=step.n[:2]))
        for other in others:
            yield replace(case, steps=(*case.steps[:i], other, *case.steps[i + 1 :]))
    if case.loss != "cross-entropy":
        yield replace(case, loss="cross-entropy")
    if case.mode == "autocast":
        yield replace(case, mode="train")
    if case.mode == "eval":
        yield replace(case, mode="train")
    if case.dtype != "float64" and case.mode != "autocast":
        yield replace(case, dtype="float64")
    if case.aggregator != "AndMask":
        yield replace(case, aggregator="AndMask")
    if case.source not in ("vector", "sequence", "tokens"):
        yield replace(case, source="sequence")
    if case.source == "sequence":
        yield replace(case, source="vector")
    if case.k > 3:
        yield replace(case, k=3)


def reproduction(case: Case, answer: Answer) -> str:
    """A file that shows the fault and needs torch and ilc alone."""
    assert answer.wrong is not None
    step, kind, detail = answer.wrong
    about = "\n".join(
        f"# {line}" for line in f"{case.way}, call {step + 1}: {kind}. {detail}".splitlines()[:3]
    )
    refusals = "".join(f"# refused before: {line[:300]}\n" for line in answer.refused[:2])
    modules = (plain_loop, rounding, possible_sums, comparison, checking)
    helpers = [Path(module.__file__ or "").read_text() for module in modules]
    text = "\n\n".join([source(case), *helpers])
    text = text.replace("from __future__ import annotations\n", "")
    text = re.sub(r"from ilc\.verification\.\w+ import [^\n(]*(\([^)]*\))?\n", "", text)
    return f"""{about[:600]}
{refusals}# Expected: as a plain loop of autograd, or refused in one line. Run this file to see it.
from __future__ import annotations

{text}

if __name__ == "__main__":
    answer = check(globals())
    print(answer)
    raise SystemExit(answer.wrong is not None)
"""
