"""Files of torch that carry their own hash, so that not a bit of them changes unnoticed.

A file of torch is a zip archive, and the hash is the archive's comment: ``torch.load`` reads it as any other.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch

from ilc.atomic import in_memory, write_atomically
from ilc.errors import UserError

_NAME = b"sha256:"
_LENGTH = len(_NAME) + 2 * hashlib.sha256().digest_size
_END_OF_ARCHIVE = b"PK\x05\x06"
_END_LENGTH = 22  # The last two of these bytes say how long the comment is.


def save_sealed(path: Path, state: Any) -> None:
    """Write what ``torch.save`` makes of ``state``, with its hash, in one step.

    Raises:
        UserError: it cannot be written; what was there before is unharmed.
    """
    # Through memory, because torch turns a full disk into an error of its own kind.
    plain = in_memory(lambda file: torch.save(state, file))
    content = plain[:-2] + _LENGTH.to_bytes(2, "little")
    seal = _NAME + hashlib.sha256(content).hexdigest().encode()
    write_atomically(path, lambda file: (file.write(content), file.write(seal)))


def load_sealed(path: Path, remedy: str, **options: Any) -> Any:
    """What ``save_sealed`` wrote, or ``torch.save`` alone; loading it runs no code.

    Args:
        path: of the file.
        remedy: what to do when it is damaged, for the message.
        options: for ``torch.load``, such as ``map_location``.

    Raises:
        UserError: the file is damaged or cannot be read.
    """
    try:
        intact = _is_intact(path.read_bytes())
        state = torch.load(path, weights_only=True, **options) if intact else None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}): {remedy}") from error
    except Exception as error:
        raise UserError(f"{path} is damaged ({type(error).__name__}): {remedy}") from error
    if not intact:
        raise UserError(f"{path} is damaged (its content does not match its hash): {remedy}")
    return state


def _is_intact(content: bytes) -> bool:
    """Whether the hash is right; a whole archive without a comment was written without one."""
    body, seal = content[:-_LENGTH], content[-_LENGTH:]
    if seal == _NAME + hashlib.sha256(body).hexdigest().encode():
        return True
    end = content[-_END_LENGTH:]
    return end.startswith(_END_OF_ARCHIVE) and end.endswith(b"\0\0")
