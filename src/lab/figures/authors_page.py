"""The page ``docs/to_the_authors.md``: statements of the sources that are false, open or hold in part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lab.figures.claims import Claim, anchor
from lab.figures.pages import wrapped
from lab.figures.studies import studies_of

PAGE = Path("docs/to_the_authors.md")
"""The page, relative to the repository's root."""

FORMULA = "python scripts/make_figures.py verdicts"
"""The command that computes all claims, also those that come from formulas."""

HEAD = f"""# What we would tell the authors

`make figures` makes this page from the [claims](claims.md). It leaves out the claims that are
reproduced without a limit, and findings of ours. The commands below a claim make the files that
its rule reads: a study continues from the committed rows. This command computes all claims anew and
trains nothing:

```
{FORMULA}
```
"""

SECTIONS: tuple[tuple[str, str, Callable[[Claim], bool]], ...] = (
    (
        "Statements that are false",
        "A counterexample or a calculation refutes them.",
        lambda claim: claim.kind == "refuted",
    ),
    (
        "Statements that our runs contradict",
        "They did not come out at any setting that we tried.",
        lambda claim: claim.kind == "not reproduced",
    ),
    (
        "Statements that hold only under a reading",
        "The source leaves something open or says it in two ways, and the verdict depends on it. A line "
        "of the authors would decide.",
        lambda claim: claim.kind == "in part" and bool(claim.reading),
    ),
    (
        "Statements of which a part holds",
        "Here no reading is in question. A part holds, or our data, network or training is smaller.",
        lambda claim: claim.kind == "in part" and not claim.reading,
    ),
    (
        "Undecided statements",
        "The runs are done and do not tell: they are too few, they differ too much, or none can decide.",
        lambda claim: claim.kind == "undecided",
    ),
    (
        "Statements whose runs are missing",
        "Runs that decide them are not done yet.",
        lambda claim: claim.kind == "pending",
    ),
)
"""The headings, with a sentence and the claims of the sources that stand below them."""


def page(collected: Mapping[str, Sequence[Claim]]) -> str:
    """Return the text of the page, from the claims by the title of their experiment."""
    every = [(claim, title) for title, claims in collected.items() for claim in claims if not claim.finding]
    found = [
        (heading, words, [pair for pair in every if belongs(pair[0])]) for heading, words, belongs in SECTIONS
    ]
    there = [section for section in found if section[2]]
    contents = [f"- [{heading}](#{anchor(heading)}): {len(pairs)}" for heading, _, pairs in there]
    parts = [HEAD, "\n".join(contents) + "\n"]
    for heading, words, pairs in there:
        parts += [f"## {heading}\n", wrapped(words) + "\n", *(_entry(*pair) for pair in pairs)]
    return "\n".join(parts)


def commands_of(claim: Claim) -> list[str]:
    """Return the commands that show a claim: those of its studies, or ``FORMULA`` if it has none."""
    return [f"python scripts/study.py {study}" for study in studies_of(claim.files)] or [FORMULA]


def _entry(claim: Claim, title: str) -> str:
    lines = [
        ("They say", claim.paper),
        ("Thesis, chapter 3", claim.thesis),
        ("We found", f"{claim.verdict}."),
        ("Number", "" if claim.number in claim.verdict else f"{claim.number}."),
        ("It depends on", claim.reading),
    ]
    items = [wrapped(f"- **{name}:** {text}", "  ") for name, text in lines if text]
    head = f"{title}. {claim.claim} ([Numbers and rule](claims.md#{anchor(claim.short)}).)"
    block = ["```", *commands_of(claim), "```"]
    return "\n".join([f"### {claim.short}", "", wrapped(head), "", *items, "", *block, ""])
