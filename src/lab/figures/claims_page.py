"""The page ``docs/claims.md``: how verdicts are made, what users should know first, and all claims."""

from __future__ import annotations

from lab.figures.claims import Claim, anchor, at_a_glance
from lab.figures.holm import LEVEL
from lab.figures.markdown_table import as_markdown
from lab.figures.pages import wrapped
from lab.figures.rule_dates import dates_of
from lab.figures.verdicts import ELSEWHERE, FEWEST

HEAD = f"""# Claims

`make figures` makes this page from `results/`. Nobody edits it by hand. n is the number of seeds,
networks or restarts. The [glossary](glossary.md) explains words such as oracle, trial and
threshold.

## How a verdict is made

A rule is a function of numbers. Each claim names the file of its rule in
`src/lab/experiments/*/claims/` and the day on which the rule was written. Most rules were written
after the runs that they judge. So the numbers were known, and a rule is only as good as its reasons
in that file. Tests feed each rule made-up numbers for each outcome that it can have.

| verdict | means |
|---|---|
| reproduced | The statement holds, and nothing limits it. |
| in part | A part holds, or it holds on other data, at another setting or after a correction. |
| not reproduced | Our runs contradict it. |
| refuted | It is a mathematical statement, and a counterexample or a calculation shows that it is false. |
| undecided | The runs do not tell: they are too few, they differ too much, or none can decide. |
| pending | Runs that decide it are still missing. |

- **Several comparisons.** Where a rule tests, the comparisons of one verdict share a level of {LEVEL:g}
  by Holm's method. A claim that is judged at several settings has a verdict at each of them.
  Nothing is corrected across settings or across claims. Two tests on the spirals are one-sided:
  whether a method is above chance, and whether more trials are perfect with L1 or L2. All others
  are two-sided. Intervals are 95 % intervals and stand alone.
- **Few seeds.** Rules that count seeds decide nothing with fewer than {FEWEST}.
- **The paper's setting** is the data, network, number of steps and options that the source states.
  Where the paper leaves something open, it is the authors' code. A claim on the spirals is judged,
  where its runs exist, at the authors' setting (three revolutions and the first weights of this
  code), with three revolutions and PyTorch's first weights, and with the two revolutions that we
  chose. What holds at some of these settings alone is reproduced in part.
- **Findings of ours** are what no source claims. They hold, hold in part or do not hold, and the
  README counts them apart.
"""

FIRST = """## What users should know first

These findings are ours, and they are negative:
"""

AGAINST = """
These statements of the sources did not come out:
"""

AT_OTHER_SETTINGS = """
These did not come out at the authors' setting. They count as "in part" because at
another setting they did, at least partly:
"""


def page(collected: dict[str, list[Claim]]) -> str:
    """Return the text of ``docs/claims.md``.

    After the rules and what users should know first, each experiment has a table of its claims and a block
    for each.
    """
    every = [claim for claims in collected.values() for claim in claims]
    parts = [HEAD, FIRST + "\n" + _list([claim for claim in every if claim.warning])]
    parts += [AGAINST[1:] + "\n" + _list([c for c in every if c.kind in ("not reproduced", "refuted")])]
    parts += [AT_OTHER_SETTINGS[1:] + "\n" + _list([c for c in every if c.verdict.startswith(ELSEWHERE)])]
    for title, claims in collected.items():
        parts += [f"## {title}\n", as_markdown(at_a_glance(claims))]
        parts += [_block(claim) for claim in claims]
    return "\n".join(parts)


def _list(claims: list[Claim]) -> str:
    """Return a list of claims with links, kinds of verdicts and numbers."""
    lines = (
        wrapped(f"- [{claim.short}](#{anchor(claim.short)}): {claim.kind} ({claim.number}).", "  ")
        for claim in claims
    )
    return "\n".join(lines) + "\n"


def _block(claim: Claim) -> str:
    place = f"../src/lab/experiments/{claim.rule.replace('/', '/claims/')}.py"
    lines = [
        ("Claim", claim.claim),
        ("Source", claim.paper),
        ("Thesis, chapter 3", claim.thesis),
        ("Ours", claim.ours),
        ("Verdict", claim.verdict),
        ("Rule", f"[`{claim.rule}`]({place}), {dates_of(claim.rule)}."),
    ]
    items = (wrapped(f"- **{name}:** {text}", "  ") for name, text in lines if text)
    table = f"\n{claim.table}" if claim.table else ""
    return f"### {claim.short}\n\n" + "\n".join(items) + "\n" + table
