"""The generator itself: what it can draw runs, and what it finds is told apart, made small and reproduced."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from differential.campaign import Campaign
from differential.case import SOURCES, WAYS, Case, Step, drawn
from differential.changes import CHANGES
from differential.faults import features, reproduction, run, signature, smaller
from differential.losses import LOSSES
from differential.pieces import PIECES
from differential.written import fitting
from ilc.gradients import WAYS as GRADIENTS
from ilc.gradients import EnvironmentGradients, sequential

PLAIN = Case(
    way="sequential",
    aggregator="AndMask",
    mode="train",
    dtype="float64",
    source="sequence",
    c=4,
    pieces=(),
    finish="mean",
    loss="cross-entropy",
    k=3,
    features=(),
    steps=(Step((), (3, 3), 4),),
)


def runs(case: Case) -> bool:
    return run(case).invalid is None


@pytest.mark.parametrize("name", PIECES)
def test_every_piece_is_a_model_that_the_plain_loop_can_differentiate(name: str) -> None:
    """On inputs of some kind, directly or after a transpose."""
    cases = [replace(PLAIN, source=source, pieces=((1, name),)) for source in SOURCES]
    cases.append(replace(PLAIN, pieces=((0, "to time first"), (1, name))))
    fit = [case for case in cases if fitting(case) and fitting(case)[-1] == (1, name)]
    assert fit and any(map(runs, fit))


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_can_be_differentiated(name: str) -> None:
    assert runs(replace(PLAIN, loss=name))


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_can_be_made(name: str) -> None:
    pieces = ((1, "residual"), (2, "dropout"), (3, "flag of mixing"))
    assert any(
        runs(replace(PLAIN, pieces=pieces, steps=(*PLAIN.steps, Step(((k, name),), (2, 2), 4))))
        for k in range(4)
    )


def test_the_draws_hold_all_there_is() -> None:
    cases = [drawn(Random(i)) for i in range(1500)]
    seen = {name for case in cases for name in features(case)}
    assert {*PIECES, *CHANGES} <= seen | {name.removeprefix("then ") for name in seen}
    assert {f"loss {name}" for name in LOSSES} - {"loss cross-entropy"} <= seen
    assert {"eval", "autocast", "bfloat16", "float16", "nan", "ignored", "same", "Mean"} <= seen
    assert {case.way for case in cases} == set(WAYS)
    assert {len(step.n) for case in cases for step in case.steps} >= {1, 2, 3, 4, 5, 25}
    left_out = drawn(Random(7), frozenset(set(PIECES) - {"linear"}))
    assert {name for _, name in left_out.pieces} <= {"linear"}


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Case:
    """``sequential`` gives the wrong votes to models with a LayerNorm."""

    def wrong(model: Any, *arguments: Any, **options: Any) -> EnvironmentGradients:
        found = sequential(model, *arguments, **options)
        if "LayerNorm" in {type(layer).__name__ for layer in model.modules()}:
            found.statistics["head.weight"].sign_sum.neg_()
        return found

    monkeypatch.setitem(GRADIENTS, "sequential", wrong)
    pieces = ((1, "tanh"), (2, "LayerNorm"), (3, "residual"))
    steps = (PLAIN.steps[0], Step(((0, "state loaded"),), (2, 4), 4))
    return replace(PLAIN, pieces=pieces, features=((3, "hook that looks"),), steps=steps)


def test_a_planted_fault_is_found_and_made_small(planted: Case) -> None:
    answer = run(planted)
    assert answer.wrong is not None and answer.wrong[:2] == (0, "votes")
    little = smaller(planted, answer)
    assert [name for _, name in little.pieces] == ["LayerNorm"]
    assert not little.features and len(little.steps) == 1
    assert signature(little, run(little)) == "sequential: votes | LayerNorm"


def test_a_reproduction_stands_alone(planted: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    text = reproduction(planted, run(planted))
    nodes = list(ast.walk(ast.parse(text)))
    imported = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    imported |= {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    assert not [name for name in imported if name.startswith(("differential", "tests", "ilc.verification"))]
    alone = ModuleType("reproduction")
    monkeypatch.setitem(sys.modules, "reproduction", alone)  # Where dataclasses look for it.
    exec(compile(text, "reproduction", "exec"), vars(alone))
    assert alone.check(vars(alone)).wrong[1] == "votes"


@pytest.mark.slow
def test_a_campaign_goes_on_where_it_stopped(planted: Case, tmp_path: Path) -> None:
    whole, halves = Campaign(tmp_path / "whole"), Campaign(tmp_path / "halves")
    few = frozenset(
        {*PIECES, *LOSSES, *CHANGES} - {"LayerNorm", "linear", "cross-entropy", "step", "hook that looks"}
    )
    whole.go_on(30, 2, few)
    halves.go_on(15, 2, few)
    halves = Campaign(tmp_path / "halves")
    assert halves.done == 15
    halves.go_on(30, 2, few)
    assert halves.counts == whole.counts and halves.faults.keys() == whole.faults.keys()
    assert any("LayerNorm" in sign for sign in whole.faults)
    assert all(Path(fault["file"]).exists() for fault in halves.faults.values())
