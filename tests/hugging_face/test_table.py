"""The table in docs/transformers.md: sums and votes of each model in each way beside a plain loop."""

from __future__ import annotations

import pytest

from hugging_face import page
from ilc.gradients import PER_EXAMPLE, WAYS
from lab.machine.torchvision_import import import_torchvision

# peft calls what transformers is about to rename.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
KINDS = (
    *("BERT", "GPT-2", "Llama", "Qwen3", "T5", "ViT", "CLIP", "Whisper"),
    *("BERT, LoRA", "Llama, DoRA", "GPT-2, IA3"),
)


@pytest.fixture(scope="module", autouse=True)
def _packages() -> None:
    """Imported by the processes that run these tests only, because it takes seconds."""
    import_torchvision()  # transformers imports it, which fails beside a CPU-only torch.
    for name in ("transformers", "peft"):
        pytest.importorskip(name, reason="the models need the extra 'transformers'")


@pytest.mark.parametrize("kind", KINDS)
def test_right_or_refused_by_the_name_of_a_way_that_is(kind: str) -> None:
    from hugging_face.comparison import RIGHT, cells

    found = cells(kind)
    assert found == page.printed()[kind]
    for way in WAYS:
        named = found[way].removeprefix("use `").removesuffix("`")
        assert found[way] == RIGHT or found[named] == RIGHT, (way, found[way])
    assert all(found[way] == RIGHT for way in PER_EXAMPLE)


def test_most_signs_are_clear_of_rounding() -> None:
    from hugging_face.comparison import compared_share

    assert min(compared_share(kind) for kind in ("BERT", "T5", "CLIP")) > 0.95


def test_the_page_has_every_model() -> None:
    from hugging_face.models import MODELS

    assert tuple(page.printed()) == tuple(MODELS) == KINDS
