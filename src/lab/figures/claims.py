"""The claims of all experiments: the sources' results, our results, and verdicts computed from the numbers.

Every module ``lab/experiments/*/claims/NAME.py`` has ``claims(results) -> list[Claim]``. The page
``docs/claims.md`` and the table ``verdicts`` consist of all these claims.
"""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab.figures.discovery import PACKAGE, experiments, modules
from lab.figures.pages import wrapped

PAGE = Path("docs/claims.md")
"""The page with all claims in full, relative to the repository's root."""

HEAD = """# Claims

`make figures` makes this page from `results/`. The rules in `src/lab/experiments/*/claims/` turn
the numbers into verdicts. Nobody edits this page by hand. n is the number of seeds, networks or
restarts. The [glossary](glossary.md) explains words such as oracle, trial and threshold.
"""


KINDS = ("reproduced", "in part", "not reproduced", "undecided", "pending")
"""The kinds of verdicts, which are counted. A verdict is pending if runs that decide it are still missing."""


class Claim(NamedTuple):
    """One claim of the paper or of another source, and our result.

    Attributes:
        short: the claim in at most eight words, which no other claim has.
        claim: the claim in full, with its figure.
        paper: statement or result of the source.
        ours: our result, with n and the kind of interval.
        number: the one number for the short overview, with its unit.
        verdict: text that says whether the claim was reproduced.
    """

    short: str
    claim: str
    paper: str
    ours: str
    number: str
    verdict: str

    @property
    def kind(self) -> str:
        """The kind as which the verdict counts, one of ``KINDS``."""
        return kind_of(self.verdict)


def collect(results: Path) -> dict[str, list[Claim]]:
    """Return all claims, by the title of their experiment.

    Args:
        results: the folder of committed CSV files.
    """
    collected = {}
    for experiment in experiments():
        found = [import_module(name).claims(results) for name in modules(experiment, "claims")]
        if found:
            collected[title_of(experiment)] = [claim for claims in found for claim in claims]
    return collected


def title_of(experiment: str) -> str:
    """Return an experiment's title: its ``TITLE``, or else its name as words."""
    title: str = getattr(import_module(f"{PACKAGE}.{experiment}"), "TITLE", "") or words(experiment)
    return title


def words(name: str) -> str:
    """Return the name of a folder or module as words that begin with a capital letter."""
    return name.replace("_", " ").capitalize()


def verdicts(collected: dict[str, list[Claim]]) -> pd.DataFrame:
    """Return the number of claims of each kind for each experiment, with a link to them, and the sums.

    A claim counts as reproduced only without limits. Substitute data, another setting or a correction make it
    "in part".
    """
    rows = []
    for experiment, claims in collected.items():
        counts = Counter(claim.kind for claim in claims)
        row = {"claims of": f"[{experiment}]({PAGE}#{anchor(experiment)})", "all": len(claims)}
        rows.append(row | {kind: counts[kind] for kind in KINDS})
    table = pd.DataFrame(rows)
    sums = {"claims of": "**together**", **table.drop(columns="claims of").sum().to_dict()}
    return pd.concat([table, pd.DataFrame([sums])], ignore_index=True)


def kind_of(verdict: str) -> str:
    """Return the kind as which a verdict counts, one of ``KINDS``."""
    for kind in ("not reproduced", "undecided", "pending"):
        if verdict.startswith(kind):
            return kind
    return "reproduced" if verdict == "reproduced" else "in part"


def at_a_glance(claims: list[Claim], page: str = "") -> pd.DataFrame:
    """Return one row per claim: its short form with a link to the claim in full, its verdict and its number.

    Args:
        claims: the claims of one experiment.
        page: page with the claims in full, if it is another page.
    """
    rows = [
        {
            "claim": f"[{claim.short}]({page}#{anchor(claim.short)})",
            "verdict": claim.verdict,
            "number": claim.number,
        }
        for claim in claims
    ]
    return pd.DataFrame(rows)


def page(collected: dict[str, list[Claim]]) -> str:
    """Return the text of ``docs/claims.md``: per experiment a table of its claims, then a block for each."""
    parts = [HEAD]
    for title, claims in collected.items():
        parts += [f"## {title}\n", at_a_glance(claims).to_markdown(index=False) + "\n"]
        parts += [_block(claim) for claim in claims]
    return "\n".join(parts)


def _block(claim: Claim) -> str:
    lines = ("Claim", claim.claim), ("Source", claim.paper), ("Ours", claim.ours), ("Verdict", claim.verdict)
    items = (wrapped(f"- **{name}:** {text}", "  ") for name, text in lines)
    return f"### {claim.short}\n\n" + "\n".join(items) + "\n"


def anchor(heading: str) -> str:
    """Return GitHub's link anchor of a heading: lower case, no punctuation, hyphens between words."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
