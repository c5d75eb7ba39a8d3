"""Every rule has a file and a date, and the page says so in words."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from lab.figures.discovery import FOLDER, experiments, modules
from lab.figures.rule_dates import AFTER, DATES, FORMULA, NO_RUN, RuleDate, dates_of

RULES = [
    f"{name}/{module.rpartition('.')[2]}" for name in experiments() for module in modules(name, "claims")
]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_date_on_which_its_file_was_there(rule: str) -> None:
    entry = DATES[rule]
    written = date.fromisoformat(entry.written)
    assert Path(FOLDER, rule.replace("/", "/claims/") + ".py").exists()
    if entry.first_run not in (AFTER, NO_RUN, FORMULA):
        assert date.fromisoformat(entry.first_run) >= written


def test_the_dates_in_words() -> None:
    assert RuleDate("2026-11-22").words == "written on 2026-11-22, after the runs"
    assert RuleDate("2026-11-22", "2026-11-25", "few").words == (
        "written on 2026-11-22, and the first run after it was committed on 2026-11-25 (few)"
    )
    assert "none is committed yet" in RuleDate("2026-11-22", NO_RUN).words
    assert "no runs" in RuleDate("2026-11-22", FORMULA).words
    assert dates_of("theory/nothing") == "of which nobody has entered the date"
