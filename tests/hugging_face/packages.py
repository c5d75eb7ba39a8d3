"""The packages that the models come from. They take seconds to import, and need an extra."""

from __future__ import annotations

from importlib import import_module

from ilc._extras import install_command
from ilc.errors import UserError
from lab.machine.torchvision_import import import_torchvision


def import_packages() -> None:
    """Import transformers and peft.

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
                f"this needs {name}, which is not installed: run {install_command('transformers')}"
            ) from error
