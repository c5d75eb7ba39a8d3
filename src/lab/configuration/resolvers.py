"""The functions that config files may call."""

from __future__ import annotations

from typing import Any

from omegaconf import DictConfig, OmegaConf

from ilc.errors import UserError
from lab.configuration.drawn import drawn
from lab.configuration.groups import choices
from lab.configuration.scale import check_scale


def register_resolvers() -> None:
    """Register the functions with OmegaConf. A second call changes nothing.

    ``${scale:A,B}`` is A at ``scale=small`` and B at ``scale=paper``. ``${floor_divide:A,B}`` is A
    divided by B, rounded down. ``${run_name:}`` is the run's folder below ``outputs/``. ``${choices:GROUP}``
    lists the choices of a group, for the help. ``${drawn:NAME,DEFAULT,KIND,LOW,HIGH}`` is a random
    option; see ``drawn``.
    """
    OmegaConf.register_new_resolver("scale", _at_scale, replace=True)
    OmegaConf.register_new_resolver("floor_divide", _floor_divide, replace=True)
    OmegaConf.register_new_resolver("drawn", drawn, replace=True)
    OmegaConf.register_new_resolver("run_name", _run_name, replace=True)
    OmegaConf.register_new_resolver("choices", lambda group: ", ".join(choices(group)), replace=True)


def _floor_divide(a: int, b: int) -> int:
    if not isinstance(b, int) or b < 1:
        raise UserError(
            f"the config divides {a} by {b!r}, but it can divide only by a whole number of at least 1: "
            "change that value"
        )
    return a // b


def _at_scale(small: Any, paper: Any, *, _root_: DictConfig) -> Any:
    return small if check_scale(_root_.scale) == "small" else paper


def _run_name(*, _root_: DictConfig) -> str:
    # Imported here because it needs torch, which the command line's help can do without.
    from lab.configuration.resolve import run_name

    return run_name(_root_)
