"""The claims of all experiments: the sources' results, our results, and verdicts computed from the numbers.

Every module ``lab/experiments/*/claims/NAME.py`` has ``claims(results) -> list[Claim]``. The page
``docs/claims.md`` (``lab.figures.claims_page``) and the table ``verdicts`` consist of all these claims.
"""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.figures.discovery import PACKAGE, experiments, home_of, modules
from lab.figures.files_read import files_read
from lab.figures.verdicts import KINDS, kind_of

PAGE = Path("docs/claims.md")
"""The page with all claims in full, relative to the repository's root."""

FINDINGS = "findings of ours"
"""The column that counts the claims that no source makes."""


class Claim(NamedTuple):
    """One claim of the paper or of another source, or a finding of ours, and our result.

    Attributes:
        short: the claim in at most eight words, which no other claim has.
        claim: the claim in full, with its figure.
        paper: statement or result of the source.
        ours: our result, with n and the kind of interval.
        number: the one number for the short overview, with its unit.
        verdict: text that says whether the claim was reproduced, or whether a finding of ours holds.
        thesis: what chapter 3 of the thesis says, where it differs from the paper.
        finding: whether the claim is ours, because no source makes it. It is then counted apart.
        warning: whether a user of the method should know it first.
        reading: what the source leaves open or says in two ways, if the verdict depends on it.
        table: a Markdown table for numbers that are too many for the sentences of ``ours``; may be empty.
        rule: ``EXPERIMENT/NAME`` of the module with the rule, which ``collect`` enters.
        files: the files below ``results/`` that this module reads, which ``collect`` enters too.
    """

    short: str
    claim: str
    paper: str
    ours: str
    number: str
    verdict: str
    thesis: str = ""
    finding: bool = False
    warning: bool = False
    reading: str = ""
    table: str = ""
    rule: str = ""
    files: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind as which the verdict counts, one of ``KINDS``; of a finding also one of ``HOLDS``."""
        return kind_of(self.verdict)


def collect(results: Path) -> dict[str, list[Claim]]:
    """Return all claims, by the title of their experiment.

    Args:
        results: the folder of committed CSV files.
    """
    collected = {}
    for experiment in experiments():
        found = [claim for name in modules(experiment, "claims") for claim in _of_module(name, results)]
        if found:
            collected[title_of(experiment)] = found
    return collected


def _of_module(name: str, results: Path) -> list[Claim]:
    with files_read(results) as files:
        found: list[Claim] = import_module(name).claims(results)
    rule = f"{home_of(name)}/{name.rpartition('.')[2]}"
    return [claim._replace(rule=rule, files=tuple(sorted(files))) for claim in found]


def title_of(experiment: str) -> str:
    """Return an experiment's title: its ``TITLE``, or else its name as words."""
    title: str = getattr(import_module(f"{PACKAGE}.{experiment}"), "TITLE", "") or words(experiment)
    return title


def words(name: str) -> str:
    """Return the name of a folder or module as words that begin with a capital letter."""
    return name.replace("_", " ").capitalize()


def verdicts(collected: dict[str, list[Claim]]) -> pd.DataFrame:
    """Return the number of claims of each kind for each experiment, with a link to them, and the sums.

    ``all`` counts the claims of the sources. Findings of ours have a column of their own.
    """
    rows = []
    for experiment, claims in collected.items():
        of_sources = [claim for claim in claims if not claim.finding]
        counts = Counter(claim.kind for claim in of_sources)
        row = {"claims of": f"[{experiment}]({PAGE}#{anchor(experiment)})", "all": len(of_sources)}
        rows.append(row | {kind: counts[kind] for kind in KINDS} | {FINDINGS: len(claims) - len(of_sources)})
    table = pd.DataFrame(rows)
    sums = {"claims of": "**together**", **table.drop(columns="claims of").sum().to_dict()}
    return pd.concat([table, pd.DataFrame([sums])], ignore_index=True)


def at_a_glance(claims: list[Claim], page: str = "") -> pd.DataFrame:
    """Return one row per claim: its short form with a link to the claim in full, its verdict and its number.

    Args:
        claims: the claims of one experiment.
        page: page with the claims in full, if it is another page.
    """
    rows = [
        {
            "claim": f"[{claim.short}]({page}#{anchor(claim.short)}){' (ours)' if claim.finding else ''}",
            "verdict": claim.verdict,
            "number": claim.number,
        }
        for claim in claims
    ]
    return pd.DataFrame(rows)


def anchor(heading: str) -> str:
    """Return GitHub's link anchor of a heading: lower case, no punctuation, hyphens between words."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
