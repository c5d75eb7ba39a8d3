"""Two training environments and a test environment, a tenth of each held out; no image in two of them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import lab.data.colored_mnist
from ilc.errors import UserError
from lab.data import Environments
from lab.data.digits import DigitImages
from lab.experiments.ood_bench.data import make_ood_bench


def numbered(random: torch.Generator) -> dict[str, DigitImages]:
    """1,000, 200 and 50 images: all pixels are the number of the image, whose last digit is its digit."""
    parts, first = {}, 1
    for name, n in (("train", 1000), ("validation", 200), ("test", 50)):
        numbers = torch.arange(first, first + n)
        images = (numbers / 10_000)[:, None, None, None].expand(-1, 1, 14, 14).contiguous()
        parts[name], first = DigitImages(images, numbers % 10), first + n
    return parts


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Environments:
    monkeypatch.setattr(lab.data.colored_mnist, "embedded_digits", numbered)
    return make_ood_bench(seed=3, source="digits")


def numbers_of(inputs: Tensor) -> Tensor:
    return (inputs.amax(-1) * 10_000).round().long()


def test_every_image_but_the_test_images_is_in_one_split(data: Environments) -> None:
    assert data.inputs.shape == (2, 450, 2 * 14 * 14)
    sizes = {name: len(split.targets) for name, split in data.evaluation.items()}
    assert sizes == {"validation": 100, "test": 180, "test_held_out": 20}
    parts = [data.inputs.flatten(0, 1), *(split.inputs for split in data.evaluation.values())]
    together = torch.cat([numbers_of(part) for part in parts])
    assert sorted(together.tolist()) == list(range(1, 1201))


def test_another_seed_divides_the_images_in_another_way(
    data: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab.data.colored_mnist, "embedded_digits", numbered)
    again, other = (make_ood_bench(seed=seed, source="digits") for seed in (3, 4))
    assert again.fingerprint() == data.fingerprint()
    test, others = (numbers_of(each.evaluation["test"].inputs) for each in (data, other))
    assert not torch.equal(test.sort().values, others.sort().values)
    # Images of both parts of the file are in the test environment.
    assert bool((test > 1000).any()) and bool((test <= 1000).any())


def test_colours_and_labels_have_the_noise_of_their_environment() -> None:
    data = make_ood_bench(seed=0, source="digits")
    assert data.source == "colored digits (scikit-learn)"
    splits = [
        (0.1, data.inputs[0], data.targets[0]),
        (0.2, data.inputs[1], data.targets[1]),
        (0.15, data.evaluation["validation"].inputs, data.evaluation["validation"].targets),
        (0.9, data.evaluation["test"].inputs, data.evaluation["test"].targets),
        (0.9, data.evaluation["test_held_out"].inputs, data.evaluation["test_held_out"].targets),
    ]
    for noise, inputs, targets in splits:
        ink = inputs.view(-1, 2, 14 * 14).sum(2)
        assert bool(((ink > 0).sum(1) == 1).all())
        share = float((ink.argmax(1) != targets).float().mean())
        assert share == pytest.approx(noise, abs=4 * (0.25 / len(targets)) ** 0.5)


def test_labels_say_below_five_in_three_of_four(data: Environments) -> None:
    below = (numbers_of(data.inputs) % 10 < 5).long()
    assert float((below == data.targets).float().mean()) == pytest.approx(0.75, abs=0.06)


def test_an_unknown_source_is_refused() -> None:
    with pytest.raises(UserError, match="must be one of auto, mnist, digits, got 'cifar10'"):
        make_ood_bench(source="cifar10")
