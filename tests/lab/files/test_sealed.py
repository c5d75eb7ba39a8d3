"""A file of torch that knows its hash: not one bit changes unnoticed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ilc.errors import UserError
from lab.files.sealed import UnsealedError, load_sealed, save_sealed, sealed_or_made

STATE = {"weights": torch.arange(200.0), "step": 3, "names": ["a", "b"]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoint.pt"
    save_sealed(path, STATE)
    return path


def test_it_is_read_back_also_by_torch_alone(path: Path) -> None:
    for state in (load_sealed(path, "x"), torch.load(path, weights_only=True)):
        assert torch.equal(state["weights"], STATE["weights"])  # type: ignore[arg-type]
        assert state["names"] == ["a", "b"]


def test_each_of_200_flipped_bits_is_found(path: Path) -> None:
    content = path.read_bytes()
    drawn = random.Random(0)
    for bit in drawn.sample(range(8 * len(content)), 200):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"is damaged .*: remove it"):
            load_sealed(path, "remove it")


def test_each_bit_of_the_seal_counts(path: Path) -> None:
    content = path.read_bytes()
    for byte in range(len(content) - 93, len(content)):  # The archive's end, its comment's length, the hash.
        for bit in range(8):
            damaged = bytearray(content)
            damaged[byte] ^= 1 << bit
            path.write_bytes(damaged)
            with pytest.raises(UserError, match="damaged"):
                load_sealed(path, "x")


@pytest.mark.parametrize("content", [b"", b"PK", b"text", b"\0" * 500])
def test_what_is_no_such_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(UserError, match="damaged"):
        load_sealed(tmp_path / "x.pt", "x")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nothing\.pt cannot be read \(No such file or directory\): x"):
        load_sealed(tmp_path / "nothing.pt", "x")


def test_one_written_without_a_hash_is_read(tmp_path: Path) -> None:
    torch.save(STATE, tmp_path / "old.pt")
    assert load_sealed(tmp_path / "old.pt", "x")["step"] == 3


def test_one_without_a_hash_is_refused_where_a_hash_is_needed(tmp_path: Path) -> None:
    torch.save(STATE, tmp_path / "old.pt")
    with pytest.raises(
        UnsealedError, match=r"old\.pt does not carry its own hash, .* not trusted: remove it"
    ):
        load_sealed(tmp_path / "old.pt", "remove it", needs_seal=True)


def has_three_steps(state: Any) -> bool:
    return bool(state["step"] == 3)


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (lambda path: None, ""),
        (
            lambda path: torch.save(STATE, path),
            "does not carry its own hash, so it is not trusted and is made again",
        ),
        (lambda path: save_sealed(path, {"step": 4}), "does not hold the expected content"),
        (lambda path: save_sealed(path, [torch.ones(2)]), "does not hold the expected content"),
    ],
)
def test_what_is_not_there_unsealed_or_something_else_is_made_anew_once(
    there: Callable[[Path], None], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, made = tmp_path / "kept.pt", []

    def make() -> Any:
        made.append(1)
        return STATE

    there(path)
    for _ in range(2):
        assert sealed_or_made(path, make, has_three_steps, "x")["names"] == ["a", "b"]
    assert len(made) == 1
    output = capsys.readouterr().out
    assert said in output and bool(output) == bool(said)


def test_a_damaged_one_is_not_made_anew(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="damaged"):
        sealed_or_made(path, lambda: STATE, has_three_steps, "x")
