"""The gallery: every committed figure, with a sentence on it and the study that makes its data."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from lab.figures.claims import title_of
from lab.figures.discovery import experiments, figure_modules, modules
from lab.figures.pages import wrapped
from lab.figures.studies import linked, studies_of

PAGE = Path("docs/gallery.md")
"""The page of the gallery, relative to the repository's root."""

HEAD = """# Gallery

`make figures` makes this page, so do not edit it by hand. It shows every figure with a sentence
about it and with the study that makes its data. The pages of the experiments and
[claims.md](claims.md) have the findings.
"""

NO_FILE = "It uses no data of a study."


def sentence_of(name: str) -> str:
    """Return the sentence on a figure or table, which is the first line of its module."""
    spec = find_spec(figure_modules()[name])
    assert spec is not None and spec.origin is not None
    return (ast.get_docstring(ast.parse(Path(spec.origin).read_text())) or "").splitlines()[0]


def page(read: Mapping[str, Iterable[str]]) -> str:
    """Return the text of ``docs/gallery.md``.

    Args:
        read: the files below ``results/`` from which each figure is drawn, by the figure's name.
    """
    parts = [HEAD]
    for experiment in experiments():
        names = [module.rpartition(".")[2] for module in modules(experiment, "figures")]
        drawn = [name for name in names if name in read]
        if drawn:
            blocks = [_block(name, experiment, read[name]) for name in drawn]
            parts += [f"## {title_of(experiment)}\n", *blocks]
    return "\n".join(parts)


def _block(name: str, experiment: str, files: Iterable[str]) -> str:
    sentence = sentence_of(name)
    makers = ", ".join(linked(study, "../") for study in studies_of(files))
    made = f"Study: {makers}." if makers else NO_FILE
    picture = f"![{sentence}](../results/{experiment}/figures/{name}.png)"
    return f"### {name}\n\n{wrapped(f'{sentence} {made}')}\n\n{picture}\n"
