"""Procedural images, redrawn labels, batches of examples."""

from __future__ import annotations

import pytest
import torch
from ilc.data.procedural_images import N_CLASSES, LabelledImages, procedural_images
from sklearn.neighbors import KNeighborsClassifier

from ilc.data import Environments, ExampleBatches, Split, make_labelled_images
from ilc.data.labelled_images import _averaged
from ilc.errors import UserError


def images(n: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    return procedural_images(n, torch.Generator().manual_seed(seed))


def test_procedural_images_are_balanced_and_repeatable() -> None:
    first, labels = images(203)
    assert first.shape == (203, 3, 32, 32)
    assert first.dtype == torch.uint8
    counts = labels.bincount(minlength=N_CLASSES)
    assert counts.max() - counts.min() <= 1
    assert torch.equal(first, images(203)[0])
    assert len(first.flatten(1).unique(dim=0)) == 203
    assert not torch.equal(first, images(203, seed=1)[0])


def test_every_class_can_be_told_from_its_ink() -> None:
    # With the same place, size, angle and colours the shape alone decides the picture.
    drawn = []
    for label in range(N_CLASSES):
        from ilc.data.procedural_images import _draw

        drawn.append(_draw(torch.tensor([label]), torch.Generator().manual_seed(3))[0].float())
    for i in range(N_CLASSES):
        for j in range(i):
            assert (drawn[i] - drawn[j]).abs().mean() > 1.0


def test_pixels_alone_do_not_give_the_class_away() -> None:
    # Otherwise nothing would have to be learned.
    train, labels = images(1000)
    test, test_labels = images(300, seed=1)
    nearest = KNeighborsClassifier(1).fit(train.flatten(1).numpy(), labels.numpy())
    assert nearest.score(test.flatten(1).numpy(), test_labels.numpy()) < 0.6


def made(label_noise: float, n: int = 1000, seed: int = 0) -> Environments:
    return make_labelled_images(
        seed, source="procedural", n_environments=n, n_test=50, label_noise=label_noise
    )


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


def test_colours_are_normalised_by_the_training_images() -> None:
    data = made(0.0)
    channels = data.inputs[:, 0].movedim(1, 0).flatten(1).double()
    assert channels.mean(1).abs().max() < 1e-4
    assert (channels.std(1) - 1).abs().max() < 1e-4
    assert data.evaluation["test"].inputs.dtype == torch.float32


def test_smaller_images_are_means_of_squares() -> None:
    whole, small = LabelledImages(*images(3)), _averaged(LabelledImages(*images(3)), 8)
    assert small.images.shape == (3, 3, 8, 8)
    assert torch.equal(small.labels, whole.labels)
    for i, channel, row, column in ((0, 0, 0, 0), (2, 1, 3, 7)):
        square = whole.images[i, channel, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
        mean = sum(int(pixel) for pixel in square.flatten()) / 16
        assert abs(int(small.images[i, channel, row, column]) - mean) <= 0.5
    data = make_labelled_images(source="procedural", n_environments=20, n_test=5, image_size=16)
    assert data.inputs.shape == (20, 1, 3, 16, 16)
    assert data.evaluation["test"].inputs.shape == (5, 3, 16, 16)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "mnist"}, "dataset.source must be one of auto, cifar10, procedural"),
        ({"label_noise": 1.5}, "label_noise is a share"),
        ({"label_noise": float("nan")}, "label_noise is a share"),
        ({"n_environments": 0}, "at least 1"),
        ({"n_test": 0}, "at least 1"),
        ({"image_size": 12}, "a divisor of 32, got 12"),
        ({"image_size": 0}, "a divisor of 32, got 0"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_labelled_images(**{"source": "procedural", **options})  # type: ignore[arg-type]


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
