"""Files of torch that carry their own hash, so that every change of a file is noticed.

A file of torch is a zip archive. The hash stands in the comment of the archive, so ``torch.load`` reads the
file as usual.
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
    """Save ``state`` as ``torch.save`` does, add the hash, and write the file in one step.

    Raises:
        UserError: the file cannot be written; the old file is unharmed.
    """
    # Through memory, because torch turns a full disk into an error of its own kind.
    plain = in_memory(lambda file: torch.save(state, file))
    content = plain[:-2] + _LENGTH.to_bytes(2, "little")
    seal = _NAME + hashlib.sha256(content).hexdigest().encode()
    write_atomically(path, lambda file: (file.write(content), file.write(seal)))


class UnsealedError(UserError):
    """A file of torch that carries no hash, so that nobody can know whether it was changed."""


def load_sealed(path: Path, remedy: str, needs_seal: bool = False, **options: Any) -> Any:
    """Load a file that ``save_sealed`` or ``torch.save`` wrote; loading it runs no code.

    Args:
        path: the file.
        remedy: what the user can do if the file is damaged, for the message.
        needs_seal: whether a file without a hash is refused. Checkpoints from before version 0.2 have no
            hash.
        options: options of ``torch.load``, such as ``map_location``.

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
    """Load the result of an earlier ``make()`` from ``path``, or call ``make()`` now and keep its result.

    A file without a hash, or with content that ``make`` cannot have given, is not used: it is made again,
    and a line says so.

    Args:
        path: the file that keeps the result.
        make: returns plain values and tensors; it is called without arguments.
        fits: whether a loaded value can come from ``make``: its keys, its shapes, the purpose it was made
            for. It may raise any error if the value is of another kind.
        remedy: as for ``load_sealed``.
        options: options of ``torch.load``.

    Raises:
        UserError: the file is damaged, or cannot be read or written.
    """
    if path.exists():
        try:
            kept = load_sealed(path, remedy, needs_seal=True, **options)
        except UnsealedError:
            print(f"{path} does not carry its own hash, so it is not trusted and is made again", flush=True)
        else:
            if _holds(fits, kept):
                return kept
            print(f"{path} does not hold the expected content, so it is made again", flush=True)
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
    """Whether the hash is right. A whole archive without a comment was written without a hash."""
    body, seal = content[:-_LENGTH], content[-_LENGTH:]
    if seal == _NAME + hashlib.sha256(body).hexdigest().encode():
        return _Seal.RIGHT
    end = content[-_END_LENGTH:]
    has_none = end.startswith(_END_OF_ARCHIVE) and end.endswith(b"\0\0")
    return _Seal.MISSING if has_none else _Seal.WRONG
