"""transformers and peft, which need an extra and take seconds to import."""

from __future__ import annotations

from importlib import import_module

from ilc._extras import install_command
from ilc.errors import UserError
from lab.machine.torchvision_import import import_torchvision


def import_transformers(asked: str) -> None:
    """Import transformers and peft.

    Args:
        asked: what needs them, as the user would name it, for the message.

    Raises:
        UserError: one of them is not installed.
    """
    import_torchvision()  # transformers imports it, which fails beside a CPU-only torch.
    for name in ("transformers", "peft"):
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            raise UserError(
                f"{asked} needs {name}, which is not installed: run {install_command('transformers')}"
            ) from error
