"""A name whose package is not installed says so."""

from __future__ import annotations

import sys

import pytest

import ilc.integrations


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "ilc.integrations._transformers", raising=False)
    with pytest.raises(ModuleNotFoundError) as error:
        _ = ilc.integrations.EnvironmentTrainer
    assert str(error.value) == (
        "EnvironmentTrainer needs transformers, which is not installed: install ilc with the extra "
        "'transformers'"
    )


def test_the_other_names_need_torch_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("accelerate", "transformers", "lightning", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, package, None)
    for name in {*ilc.integrations.__all__} - {"EnvironmentTrainer"}:
        monkeypatch.delitem(sys.modules, ilc.integrations._HOME[name], raising=False)
        assert callable(getattr(ilc.integrations, name))


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Callback'"):
        _ = ilc.integrations.Callback
