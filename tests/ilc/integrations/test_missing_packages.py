"""A name whose package is not installed says so, and the other names do not need it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
for missing in ("accelerate", "transformers", "lightning", "pytorch_lightning"):
    sys.modules[missing] = None
from ilc.integrations import EnvironmentModule, EnvironmentSampler, EnvironmentVotes
try:
    from ilc.integrations import EnvironmentTrainer
except ModuleNotFoundError as error:
    print(error)
"""


def test_a_missing_package_is_named_with_its_extra() -> None:
    answer = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    assert answer.stdout == (
        "EnvironmentTrainer needs transformers, which is not installed: install ilc with the extra "
        "'transformers'\n"
    )


def test_other_names_do_not_exist() -> None:
    import ilc.integrations

    with pytest.raises(AttributeError, match="has no attribute 'Callback'"):
        _ = ilc.integrations.Callback
