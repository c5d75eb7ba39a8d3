"""The gallery: every committed figure, with the claims and the studies that belong to its data."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from lab.figures.claims import Claim, anchor, title_of
from lab.figures.discovery import experiments, figure_modules, modules
from lab.figures.pages import wrapped
from lab.figures.studies import linked, studies_of
from lab.figures.verdicts import KINDS

PAGE = Path("docs/gallery.md")
"""The page of the gallery, relative to the repository's root."""
DOCS = Path(__file__).parents[3] / "docs"
"""The folder of the pages."""

HEAD = """# Gallery

`make figures` makes this page, so do not edit it by hand. It shows every figure by experiment.
Below a figure stand the claims that are computed from the same data, with their verdicts, and the
study that makes the data. [claims.md](claims.md) has the claims in full.
"""

NO_FILE = "It uses no data of a study."


def sentence_of(name: str) -> str:
    """Return the sentence on a figure or table, which is the first line of its module."""
    spec = find_spec(figure_modules()[name])
    assert spec is not None and spec.origin is not None
    return (ast.get_docstring(ast.parse(Path(spec.origin).read_text())) or "").splitlines()[0]


def page(read: Mapping[str, Iterable[str]], collected: Mapping[str, Sequence[Claim]]) -> str:
    """Return the text of ``docs/gallery.md``.

    Args:
        read: the files below ``results/`` from which each figure is drawn, by the figure's name.
        collected: the claims by the title of their experiment.
    """
    jumps, parts = [], []
    for experiment in experiments():
        names = [module.rpartition(".")[2] for module in modules(experiment, "figures")]
        drawn = [name for name in names if name in read]
        if not drawn:
            continue
        title = title_of(experiment)
        claims = collected.get(title, ())
        kinds = Counter(claim.kind for claim in claims if not claim.finding)
        verdicts = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind])
        jump = f"- [{title}](#{anchor(title)}): figures {len(drawn)}"
        jumps.append(wrapped(f"{jump}; claims {verdicts}" if verdicts else jump, "  "))
        links = ", ".join(f"[{name}](#{name})" for name in drawn)
        # An experiment without claims may have figures and no page.
        own_page = f"[Page]({experiment}.md). " if (DOCS / f"{experiment}.md").is_file() else ""
        parts += [f"## {title}\n", wrapped(f"{own_page}Figures: {links}.") + "\n"]
        parts += [_block(name, experiment, set(read[name]), claims) for name in drawn]
    return "\n".join([HEAD, "\n".join(jumps) + "\n", *parts])


def _block(name: str, experiment: str, files: set[str], claims: Sequence[Claim]) -> str:
    makers = ", ".join(linked(study, "../") for study in studies_of(files))
    lines = [f"### {name}", "", wrapped(sentence_of(name)), ""]
    lines += [f"![{name}](../results/{experiment}/figures/{name}.png)", ""]
    shown = [
        wrapped(f"- [{claim.short}](claims.md#{anchor(claim.short)}): {claim.kind} ({claim.number})", "  ")
        for claim in claims
        if files & set(claim.files)
    ]
    lines += [*shown, ""] if shown else []
    return "\n".join([*lines, wrapped(f"Study: {makers}." if makers else NO_FILE), ""])
