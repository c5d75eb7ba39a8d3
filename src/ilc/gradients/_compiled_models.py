"""Models that ``torch.compile`` has compiled, as a whole or in parts, and passes that run them as written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch
from torch import nn

from ilc.errors import UserError

_as_written: ContextVar[bool] = ContextVar("as_written", default=False)


def is_compiled(model: nn.Module) -> bool:
    """Whether the model or one of its modules runs compiled code.

    A module does after ``torch.compile(module)`` and ``module.compile()``, and if its ``forward`` is a
    function that was compiled.
    """
    return any(map(_runs_compiled_code, model.modules()))


def _runs_compiled_code(module: Any) -> bool:
    if hasattr(module, "_orig_mod") or module._compiled_call_impl is not None:
        return True
    forward = module.forward
    return hasattr(forward, "_torchdynamo_orig_callable") and not hasattr(forward, "_torchdynamo_disable")


@contextmanager
def as_written(model: nn.Module, what: str, reason: str) -> Iterator[None]:
    """Run a compiled model as it was written inside the block, which is said once.

    Compiled code stays in memory for passes outside the block. A model that is not compiled needs nothing.

    Args:
        model: the model.
        what: what needs this, as the printed line names it.
        reason: why it does.

    Raises:
        UserError: this torch cannot run compiled modules as they were written.
    """
    if not is_compiled(model):
        yield
        return
    if not hasattr(torch.compiler, "set_stance"):
        raise UserError(
            f"{what} cannot use compiled code, and torch {torch.__version__} cannot run a compiled model as "
            "it was written (torch.compiler.set_stance, which is new in 2.6): give the model from before "
            "torch.compile, or take gradients='sequential'"
        )
    _say_once(f"{what} runs the compiled model as it was written, because {reason}")
    token = _as_written.set(True)
    try:
        with torch.compiler.set_stance("force_eager"):
            yield
    finally:
        _as_written.reset(token)


def check_as_written(model: nn.Module) -> None:
    """Raise UserError if this pass would run compiled code, of which torch shows no layers."""
    if not _as_written.get() and is_compiled(model):
        raise UserError(
            "compiled code shows no layers: call ilc.backward or ilc.environment_gradients, which run the "
            "model as it was written, or give the model from before torch.compile"
        )


@cache
def _say_once(how: str) -> None:
    print(f"ilc: {how}")
