"""One page for each public module: its docstring, then the docstrings of all names in its ``__all__``.

Each name stands under its public path, such as ``ilc.gradients.backward``. The defining file is private.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def api_pages(modules: Iterable[str]) -> dict[str, str]:
    """The Markdown of each module's page. A name that a later module documents too is a link to there."""
    pages = {}
    documented: dict[str, str] = {}
    for module in sorted(modules, key=lambda name: -name.count(".")):
        parts = [f"# {module}\n", directive(module, members="false", heading=None)]
        for name in public_names(module):
            home = defined_in(module, name)
            if home in documented:
                parts.append(f"- `{module}.{name}` is [`{documented[home]}`][].\n")
            else:
                documented[home] = f"{module}.{name}"
                parts.append(directive(documented[home], members="null", heading=name))
        pages[module] = "\n".join(parts)
    return pages


def directive(identifier: str, members: str, heading: str | None) -> str:
    """What makes mkdocstrings write one object's docstring."""
    if heading is None:
        shown = "show_root_heading: false\n      show_root_toc_entry: false"
    else:
        shown = f"show_root_heading: true\n      heading: {heading}"
    return f"::: {identifier}\n    options:\n      {shown}\n      members: {members}\n"


def public_names(module: str) -> list[str]:
    """The names in ``__all__``."""
    for node in tree(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise LookupError(f"{module} has no __all__, so it is not known which of its names are public")


def defined_in(module: str, name: str) -> str:
    """The path of the file that defines a name, with the name: imports are followed to their ends."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            return defined_in(str(node.module), name)
    return f"{module}.{name}"


def tree(module: str) -> ast.Module:
    """A module's source, parsed."""
    path = SOURCE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text())
