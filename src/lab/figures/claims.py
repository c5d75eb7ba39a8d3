"""The claims of all experiments: what the sources and we found, and a verdict that the numbers decide.

Every module ``lab/experiments/*/claims/NAME.py`` has ``claims(results) -> list[Claim]``. Together they make
``docs/claims.md`` and the table ``verdicts``.
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
"""Where the claims stand in full, from the repository's root."""

HEAD = """# Claims

`make figures` makes this page from `results/`. The rules in `src/lab/experiments/*/claims/` turn
the numbers into verdicts. Nobody edits this page by hand.
"""


KINDS = ("reproduced", "in part", "not reproduced", "undecided", "pending")
"""Of verdicts, as they are counted. Pending: runs that decide it have not been made yet."""


class Claim(NamedTuple):
    """One claim of the paper or of another source, and what became of it here.

    Attributes:
        short: the claim in at most eight words, no other claim has the same.
        claim: the claim in full, with its figure.
        paper: what the source says or found.
        ours: what was found here, with n and the kind of interval.
        number: the one number to show at a glance, with its unit.
        verdict: whether the claim was reproduced.
    """

    short: str
    claim: str
    paper: str
    ours: str
    number: str
    verdict: str

    @property
    def kind(self) -> str:
        """Which of ``KINDS`` the verdict counts as."""
        return kind_of(self.verdict)


def collect(results: Path) -> dict[str, list[Claim]]:
    """All claims by the title of their experiment.

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
    """What an experiment is called above its claims: its ``TITLE``, or else its name as words."""
    title: str = getattr(import_module(f"{PACKAGE}.{experiment}"), "TITLE", "") or words(experiment)
    return title


def words(name: str) -> str:
    """The name of a folder or module as words that begin with a capital letter."""
    return name.replace("_", " ").capitalize()


def verdicts(collected: dict[str, list[Claim]]) -> pd.DataFrame:
    """How many claims of each experiment came out how, with a link to them, and the sum.

    Reproduced is only what is so without a limit: a stand-in for data, another setting or a correction make
    it "in part".
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
    """Which of ``KINDS`` a verdict counts as."""
    for kind in ("not reproduced", "undecided", "pending"):
        if verdict.startswith(kind):
            return kind
    return "reproduced" if verdict == "reproduced" else "in part"


def at_a_glance(claims: list[Claim], page: str = "") -> pd.DataFrame:
    """A row per claim: its short form with a link to the claim in full, its verdict and number.

    Args:
        claims: of one experiment.
        page: where they stand in full, if elsewhere.
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
    """The text of ``docs/claims.md``: per experiment its claims at a glance, then a block for each."""
    parts = [HEAD]
    for title, claims in collected.items():
        parts += [f"## {title}\n", at_a_glance(claims).to_markdown(index=False) + "\n"]
        parts += [_block(claim) for claim in claims]
    return "\n".join(parts)


def _block(claim: Claim) -> str:
    lines = ("Claim", claim.claim), ("Paper", claim.paper), ("Ours", claim.ours), ("Verdict", claim.verdict)
    items = (wrapped(f"- **{name}:** {text}", "  ") for name, text in lines)
    return f"### {claim.short}\n\n" + "\n".join(items) + "\n"


def anchor(heading: str) -> str:
    """What GitHub calls a heading in links: lower case, punctuation left out, hyphens between words."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
