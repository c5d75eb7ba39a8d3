"""The claims of all experiments: what the sources and we found, and a verdict that the numbers decide.

Every module ``ilc/experiments/*/claims/NAME.py`` has ``claims(results) -> list[Claim]``. Together they make
``docs/claims.md`` and the table ``at_a_glance``.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from ilc.figures.discovery import experiments, modules

PAGE = Path("docs/claims.md")
"""Where the claims stand in full, from the repository's root."""

HEAD = """# Claims

Made by `make figures` from `results/`: the verdicts follow from the numbers by rules in
`src/ilc/experiments/*/claims/`. Nobody edits this page by hand.
"""


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
    """What an experiment is called above its claims."""
    title: str = import_module(f"ilc.experiments.{experiment}").TITLE
    return title


def at_a_glance(collected: dict[str, list[Claim]]) -> pd.DataFrame:
    """A row per claim: its short form, verdict and number, and a link to the claim in full."""
    rows = [
        {
            "claim": claim.short,
            "verdict": claim.verdict,
            "number": claim.number,
            "in full": f"[{experiment}]({PAGE}#{anchor(claim.short)})",
        }
        for experiment, claims in collected.items()
        for claim in claims
    ]
    return pd.DataFrame(rows)


def page(collected: dict[str, list[Claim]]) -> str:
    """The text of ``docs/claims.md``: a block per claim, under its experiment."""
    parts = [HEAD]
    for title, claims in collected.items():
        parts.append(f"## {title}\n")
        parts += [_block(claim) for claim in claims]
    return "\n".join(parts)


def _block(claim: Claim) -> str:
    lines = ("Claim", claim.claim), ("Paper", claim.paper), ("Ours", claim.ours), ("Verdict", claim.verdict)
    return f"### {claim.short}\n\n" + "".join(f"- **{name}:** {text}\n" for name, text in lines)


def anchor(heading: str) -> str:
    """What GitHub calls a heading in links: lower case, punctuation left out, hyphens between words."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
