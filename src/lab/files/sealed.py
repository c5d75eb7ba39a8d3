"""Files of torch that carry their own hash, so that not a bit of them changes unnoticed.

A file of torch is a zip archive, and the hash is the archive's comment: ``torch.load`` reads it as any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import torch

from ilc.errors import UserError
from lab.files.atomic import in_memory, write_atomically

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


class UnsealedError(UserError):
    """A whole file of torch that carries no hash: nobody can say whether it is what was written."""


def load_sealed(path: Path, remedy: str, needs_seal: bool = False, **options: Any) -> Any:
    """What ``save_sealed`` wrote, or ``torch.save`` alone; loading it runs no code.

    Args:
        path: of the file.
        remedy: what to do when it is damaged, for the message.
        needs_seal: whether a file without a hash is refused. A run's checkpoint from before 0.2 has none.
        options: for ``torch.load``, such as ``map_location``.

    Raises:
        UnsealedError: the file has no hash and needs one.
        UserError: the file is damaged or cannot be read.
    """
    try:
        seal = _seal(path.read_bytes())
        if seal is _Seal.MISSING and needs_seal:
            raise UnsealedError(
                f"{path} does not carry its own hash, so its content is not trusted: {remedy}"
            )
        state = None if seal is _Seal.WRONG else torch.load(path, weights_only=True, **options)
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}): {remedy}") from error
    except Exception as error:
        raise UserError(f"{path} is damaged ({type(error).__name__}): {remedy}") from error
    if seal is _Seal.WRONG:
        raise UserError(f"{path} is damaged (its content does not match its hash): {remedy}")
    return state


def sealed_or_made(
    path: Path, make: Callable[[], Any], fits: Callable[[Any], bool], remedy: str, **options: Any
) -> Any:
    """What ``path`` keeps of an earlier ``make()``, or else what it makes now, which is then kept there.

    A file without a hash, or with another content than ``make`` gives, is made anew, and that is printed:
    whoever put it there, nothing is taken from it.

    Args:
        path: of the kept file.
        make: gives plain values and tensors; called without arguments.
        fits: whether a value could have come from ``make``: its keys, its shapes, what it was made for. It
            may raise anything where the value is of another kind.
        remedy: as ``load_sealed``.
        options: for ``torch.load``.

    Raises:
        UserError: the file is damaged, or cannot be read or written.
    """
    if path.exists():
        try:
            kept = load_sealed(path, remedy, needs_seal=True, **options)
        except UnsealedError:
            print(f"{path} does not carry its own hash, so it is not trusted and made anew", flush=True)
        else:
            if _holds(fits, kept):
                return kept
            print(f"{path} holds something else than was expected there, so it is made anew", flush=True)
    made = make()
    save_sealed(path, made)
    return made


def _holds(fits: Callable[[Any], bool], value: Any) -> bool:
    try:
        return fits(value)
    except Exception:
        return False


class _Seal(Enum):
    RIGHT, WRONG, MISSING = range(3)


def _seal(content: bytes) -> _Seal:
    """Whether the hash is right; a whole archive without a comment was written without one."""
    body, seal = content[:-_LENGTH], content[-_LENGTH:]
    if seal == _NAME + hashlib.sha256(body).hexdigest().encode():
        return _Seal.RIGHT
    end = content[-_END_LENGTH:]
    has_none = end.startswith(_END_OF_ARCHIVE) and end.endswith(b"\0\0")
    return _Seal.MISSING if has_none else _Seal.WRONG
