"""Which images there are, redrawn labels, batches of examples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ilc.errors import UserError
from lab.data import Environments, ExampleBatches, Split, cifar10, fashion_mnist, make_labelled_images
from lab.data import labelled_images as module
from lab.data.images import LabelledImages


def made(label_noise: float, n: int = 1000, seed: int = 0) -> Environments:
    return make_labelled_images(seed, source="embedded", n_environments=n, n_test=50, label_noise=label_noise)


def test_label_noise_redraws_its_share() -> None:
    clean, noisy, random = made(0.0), made(0.25), made(1.0)
    assert torch.equal(clean.inputs, noisy.inputs)
    wrong = (clean.targets != noisy.targets).flatten()
    # A tenth of the redrawn labels come out right: 225 wrong of 1,000, give or take five deviations.
    assert abs(int(wrong.sum()) - 225) < 5 * (250 * 0.1 * 0.9) ** 0.5
    assert torch.equal(noisy.parts["mislabeled"], wrong)
    assert torch.equal(noisy.parts["labeled"], ~wrong)
    agreement = (clean.targets == random.targets).float().mean()
    assert 0.05 < agreement < 0.15
    assert clean.parts == random.parts == {}
    assert torch.equal(clean.evaluation["test"].targets, random.evaluation["test"].targets)


def test_redrawn_labels_are_uniform_over_the_classes_and_as_many_as_asked_for() -> None:
    nothing = torch.full((1000,), -1)
    for share, n in ((1.0, 1000), (0.29, 290), (0.0006, 1), (0.0004, 0)):
        redrawn = module._redrawn(nothing, share, torch.Generator().manual_seed(0))
        assert int((redrawn >= 0).sum()) == n
    counts = module._redrawn(nothing, 1.0, torch.Generator().manual_seed(0)).bincount(minlength=10)
    # 100 of each, give or take five deviations.
    assert len(counts) == 10
    assert (counts - 100).abs().max() < 5 * 90**0.5


def test_labels_are_those_of_the_images() -> None:
    parts = fashion_mnist.embedded_images()
    true = {
        image.numpy().tobytes(): int(label)
        for part in parts.values()
        for image, label in zip(*part, strict=True)
    }
    data = made(0.0)
    splits = [(data.pooled(), parts["train"]), (data.evaluation["test"], parts["test"])]
    for split, part in splits:
        there = {image.numpy().tobytes() for image in part.images}
        keys = [image.numpy().tobytes() for image in split.inputs.view(-1, 1, 28, 28)]
        assert len(set(keys)) == len(keys)
        assert set(keys) <= there
        assert [true[key] for key in keys] == split.targets.tolist()
    assert not torch.equal(made(0.0, seed=1).inputs, data.inputs)
    assert made(0.0).fingerprint() == data.fingerprint()


@pytest.fixture
def at_hand(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Says which sources can be had; without network, and returns how long each server may be asked."""

    def choose(*names: str) -> list[float]:
        seconds: list[float] = []

        def silent(url: str, how_long: float) -> bool:
            seconds.append(how_long)
            return False

        for own in (cifar10, fashion_mnist):
            monkeypatch.setattr(own, "server_answers", silent)
        if "cifar10" in names:
            monkeypatch.setattr(module, "cifar10_is_at_hand", lambda data_dir, seconds: True)
        if "fashion_mnist" in names:
            monkeypatch.setattr(module, "fashion_mnist_is_at_hand", lambda data_dir, seconds: True)
        monkeypatch.setattr(module, "cifar10_jpeg_is_at_hand", lambda data_dir: "cifar10_jpeg" in names)
        few = torch.randint(0, 256, (30, 3, 32, 32), dtype=torch.uint8)
        part = LabelledImages(few, torch.arange(30) % 10)
        for name in names:
            monkeypatch.setitem(module._READ, name, lambda data_dir: {"train": part, "test": part})
        monkeypatch.setattr(fashion_mnist, "DEBIAN", Path("nowhere"))
        return seconds

    return choose


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (("fashion_mnist", "cifar10_jpeg", "cifar10"), "CIFAR-10"),
        (("fashion_mnist", "cifar10_jpeg"), "CIFAR-10 (JPEG copy)"),
        (("fashion_mnist",), "Fashion-MNIST"),
        ((), "Fashion-MNIST (the part that is embedded)"),
    ],
)
def test_auto_takes_the_first_that_can_be_had_and_says_its_name(
    names: tuple[str, ...], taken: str, at_hand: Any, tmp_path: Path
) -> None:
    at_hand(*names)
    data = make_labelled_images(data_dir=str(tmp_path), n_environments=20, n_test=10)
    assert data.source == f"{taken}, 20 for training"
    assert list(tmp_path.iterdir()) == []


def test_auto_decides_within_ten_seconds_without_network(at_hand: Any, tmp_path: Path) -> None:
    seconds = at_hand()
    make_labelled_images(data_dir=str(tmp_path), n_environments=20, n_test=10)
    assert len(seconds) == 2
    assert sum(seconds) < 10


def test_a_source_by_name_asks_for_no_other(at_hand: Any, tmp_path: Path) -> None:
    seconds = at_hand("cifar10_jpeg")
    for source in ("embedded", "cifar10_jpeg"):
        make_labelled_images(data_dir=str(tmp_path), source=source, n_environments=20, n_test=10)
    assert seconds == []


def test_all_images_unless_fewer_are_asked_for(at_hand: Any) -> None:
    at_hand("cifar10_jpeg")
    data = make_labelled_images(source="cifar10_jpeg")
    assert data.inputs.shape == (30, 1, 3, 32, 32)
    assert data.evaluation["test"].inputs.shape == (30, 3, 32, 32)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"source": "mnist"},
            "dataset.source must be one of auto, cifar10, cifar10_jpeg, fashion_mnist, embedded, got 'mnist'",
        ),
        ({"source": "procedural"}, "dataset.source must be one of"),
        ({"label_noise": 1.5}, "label_noise must be a share"),
        ({"label_noise": -0.1}, "label_noise must be a share"),
        ({"label_noise": float("nan")}, "label_noise must be a share"),
        ({"n_environments": 0}, "n_environments must be at least 1, or null for all images, got 0"),
        ({"n_test": 0}, "n_test must be at least 1, or null for all images, got 0"),
        (
            {"n_environments": 9601},
            r"n_environments=9601 is more than the 9600 images that Fashion-MNIST \(the part that",
        ),
        ({"n_test": 2001}, "n_test=2001 is more than the 2000 images that Fashion-MNIST"),
        ({"image_size": 12}, "must divide the 28 pixels of a side: one of 1, 2, 4, 7, 14, 28, got 12"),
        ({"image_size": 56}, "must divide the 28 pixels of a side: one of 1, 2, 4, 7, 14, 28, got 56"),
        ({"image_size": 0}, "must divide the 28 pixels of a side"),
        ({"image_size": -4}, "must divide the 28 pixels of a side"),
        (
            {"image_size": 14, "source": "cifar10_jpeg", "n_test": 5},
            "must divide the 32 pixels of a side: one of 1, 2, 4, 8, 16, 32, got 14",
        ),
    ],
)
def test_bad_options(options: dict[str, Any], message: str, at_hand: Any) -> None:
    at_hand("cifar10_jpeg")
    with pytest.raises(UserError, match=message) as error:
        make_labelled_images(**{"source": "embedded", **options})
    assert "\n" not in str(error.value)


def numbered(n: int) -> Environments:
    values = torch.arange(n)
    split = Split(values[:1].float(), values[:1])
    return Environments(values.float().view(2, -1), values.view(2, -1), {"test": split})


def test_batches_of_examples_cover_the_data_once() -> None:
    sampler = ExampleBatches(numbered(22), 5, torch.Generator().manual_seed(0))
    epochs = [[y for _, y in sampler] for _ in range(2)]
    assert len(sampler) == 4
    for epoch in epochs:
        assert [tuple(batch.shape) for batch in epoch] == [(5, 1)] * 4
        assert len(torch.cat(epoch).unique()) == 20
    assert not torch.equal(torch.cat(epochs[0]), torch.cat(epochs[1]))
    for x, y in sampler:
        assert torch.equal(x, y.float())


def test_the_order_continues_from_a_saved_state() -> None:
    sampler = ExampleBatches(numbered(20), 5, torch.Generator().manual_seed(0))
    list(sampler)
    state = sampler.state_dict()
    expected = [y for _, y in sampler]
    again = ExampleBatches(numbered(20), 5, torch.Generator())
    again.load_state_dict(state)
    assert all(torch.equal(a, b) for a, (_, b) in zip(expected, again, strict=True))


@pytest.mark.parametrize("batch_size", [0, 21, 2.5])
def test_bad_batch_sizes(batch_size: int) -> None:
    with pytest.raises(UserError, match="each an environment of its own"):
        ExampleBatches(numbered(20), batch_size, torch.Generator())
