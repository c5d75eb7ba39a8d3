"""Colours, label noise and the embedded source; no test digit may leak into training."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import lab.data.colored_mnist
from ilc.errors import UserError
from lab.data import Environments, Split, make_colored_mnist
from lab.data.digits import embedded_digits, enlarge


@pytest.fixture(scope="module")
def digits() -> Environments:
    return make_colored_mnist(seed=3, source="digits")


def colors(split: Split) -> Tensor:
    """The channel that is not black."""
    ink = split.inputs.view(-1, 2, 14 * 14).sum(2)
    assert bool(((ink > 0).sum(1) == 1).all()), "every image has exactly one colour"
    return ink.argmax(1)


def test_shapes(digits: Environments) -> None:
    assert digits.inputs.shape == (2, 5500, 2 * 14 * 14)
    assert digits.n_outputs == 2
    assert len(digits.evaluation["validation"].inputs) == 2970
    assert len(digits.evaluation["test"].inputs) == 4000
    assert digits.source == "colored digits (scikit-learn)"
    assert 0 <= float(digits.inputs.min()) < float(digits.inputs.max()) <= 1


@pytest.mark.parametrize(
    ("name", "noise"), [("train_c0.2", 0.2), ("train_c0.1", 0.1), ("validation", 0.5), ("test", 0.9)]
)
def test_colour_disagrees_with_the_label_as_often_as_it_should(
    name: str, noise: float, digits: Environments
) -> None:
    split = digits.evaluation[name]
    share = float((colors(split) != split.targets).float().mean())
    assert share == pytest.approx(noise, abs=4 * (0.25 / len(split.targets)) ** 0.5)


def test_environments_are_in_the_order_of_their_splits(digits: Environments) -> None:
    assert torch.equal(digits.inputs[0], digits.evaluation["train_c0.2"].inputs)
    assert torch.equal(digits.inputs[1], digits.evaluation["train_c0.1"].inputs)


def test_label_noise() -> None:
    """Without noise a digit has one label; with it a quarter of its copies have the other one."""
    clean = make_colored_mnist(seed=3, source="digits", label_noise=0.0, grayscale=True)
    noisy = make_colored_mnist(seed=3, source="digits", grayscale=True)
    assert torch.equal(clean.inputs, noisy.inputs)
    share = float((clean.targets != noisy.targets).float().mean())
    assert share == pytest.approx(0.25, abs=0.02)


def test_grayscale_is_the_same_images_without_their_colour(digits: Environments) -> None:
    gray = make_colored_mnist(seed=3, source="digits", grayscale=True)
    assert torch.equal(gray.inputs, digits.inputs.unflatten(2, (2, 14 * 14)).sum(2))
    assert torch.equal(gray.targets, digits.targets)


def test_no_original_is_in_two_parts() -> None:
    """The first version of every image is only resized, so it names the original."""
    parts = embedded_digits(torch.Generator().manual_seed(0))
    originals = {
        name: {image.numpy().tobytes() for image in part.images[:, 0]} for name, part in parts.items()
    }
    assert [len(part.digits) for part in parts.values()] == [1100, 297, 400]
    assert not originals["train"] & originals["test"]
    assert not originals["train"] & originals["validation"]
    assert not originals["validation"] & originals["test"]


def test_environments_share_no_original(monkeypatch: pytest.MonkeyPatch) -> None:
    def numbered(random: torch.Generator) -> dict[str, lab.data.colored_mnist.DigitImages]:
        images = torch.arange(1, 21).view(20, 1, 1, 1).expand(20, 3, 14, 14).float()
        part = lab.data.colored_mnist.DigitImages(images, torch.arange(20) % 10)
        return {"train": part, "validation": part, "test": part}

    monkeypatch.setattr(lab.data.colored_mnist, "embedded_digits", numbered)
    data = make_colored_mnist(source="digits", grayscale=True)
    first, second = (set(inputs[:, 0].tolist()) for inputs in data.inputs)
    assert len(first) == len(second) == 10
    assert not first & second


def test_enlarged_images_stay_close_to_the_original() -> None:
    images = torch.zeros(1, 1, 8, 8)
    images[..., 2:6, 3:5] = 1.0
    versions = enlarge(images, torch.Generator().manual_seed(0))[0]
    rows = torch.arange(14.0)
    centres = torch.stack([(v.sum(1) @ rows / v.sum()) for v in versions])
    assert len({version.numpy().tobytes() for version in versions}) == 10
    assert float((centres - centres[0]).abs().max()) < 1.6
    assert float((versions.sum((1, 2)) / versions[0].sum() - 1).abs().max()) < 0.1


def test_fewer_examples() -> None:
    data = make_colored_mnist(source="digits", examples_per_environment=100, n_environments=3)
    assert data.inputs.shape[:2] == (3, 100)
    assert "train_c0.15" in data.evaluation


def test_environments_of_equal_colour_noise_have_a_split_each() -> None:
    data = make_colored_mnist(source="digits", examples_per_environment=100, smallest_color_noise=0.2)
    for environment in range(2):
        split = data.evaluation[f"train_c0.2_E{environment}"]
        assert torch.equal(data.inputs[environment], split.inputs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "cifar"}, "one of auto, mnist, digits"),
        ({"label_noise": 1.5}, r"in \[0, 1\]"),
        ({"n_environments": 0}, "n_environments at least 1, got"),
        ({"examples_per_environment": 5501}, "between 1 and 5500"),
        ({"n_environments": 1101}, "at most 1100"),
        ({"examples_per_environment": 0}, "between 1 and 5500"),
    ],
)
def test_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_colored_mnist(**{"source": "digits", **options})  # type: ignore[arg-type]
