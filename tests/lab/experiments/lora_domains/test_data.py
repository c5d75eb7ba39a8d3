"""What the codes say in each split, and which images are where."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ilc.errors import UserError
from lab.data import Environments, Split
from lab.experiments.lora_domains.data import make_lora_domains, pretraining_examples


@pytest.fixture(scope="module")
def data() -> Environments:
    return make_lora_domains(seed=3)


def says(split: Split, data: Environments) -> tuple[Tensor, Tensor]:
    """The domain whose direction each code has, and whether the code points forward."""
    first = 2.0 * data.targets[:, 0] - 1  # The first image of each domain, whose code says its label.
    directions = first[:, None] * data.inputs[:, 0, 8] / 3
    along = split.inputs[:, 8] @ directions.T / 3
    assert torch.allclose(along.abs().amax(1), torch.ones(len(along)), atol=1e-5)
    domain = along.abs().argmax(1)
    return domain, (along.gather(1, domain[:, None])[:, 0] > 0).long()


def test_the_code_of_each_training_domain_says_the_label(data: Environments) -> None:
    domain, label = says(data.pooled(), data)
    assert torch.equal(domain, torch.arange(8).repeat_interleave(100))
    assert torch.equal(label, data.pooled().targets)


def test_codes_turn_in_the_test_and_say_nothing_in_the_held_out_domain(data: Environments) -> None:
    test, validation = data.evaluation["test"], data.evaluation["validation"]
    assert torch.equal(says(test, data)[1], 1 - test.targets)
    agree = (says(validation, data)[1] == validation.targets).float().mean()
    assert 0.4 < agree < 0.6
    assert all(len(set(says(split, data)[0].tolist())) == 8 for split in (test, validation))
    assert not data.evaluation["no_code"].inputs[:, 8].any()
    assert torch.equal(data.evaluation["no_code"].inputs[:, :8], test.inputs[:, :8])


def test_the_oracle_differs_in_the_training_codes_alone(data: Environments) -> None:
    oracle = make_lora_domains(seed=3, random_codes=True)
    assert torch.equal(oracle.inputs[:, :, :8], data.inputs[:, :, :8])
    agree = (oracle.inputs[:, :, 8] == data.inputs[:, :, 8]).all(-1).float().mean()
    assert 0.4 < agree < 0.6
    assert torch.equal(oracle.evaluation["test"].inputs, data.evaluation["test"].inputs)


def test_no_image_is_in_two_splits(data: Environments) -> None:
    splits = [data.pooled(), data.evaluation["validation"], data.evaluation["test"], pretraining_examples()]
    images = torch.cat([split.inputs[:, :8].flatten(1) for split in splits])
    assert len(images) == len(torch.unique(images, dim=0)) == 1797


def test_too_many_images_are_refused() -> None:
    with pytest.raises(UserError, match="must lie between 1 and 100, got 101"):
        make_lora_domains(examples_per_environment=101)
