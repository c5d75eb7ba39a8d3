"""The hashes of the results: changed, missing and new files are named, and the list merges."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from ilc.errors import UserError
from lab.files.checksums import DATA, SUMS, check, check_named, refresh


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for name in ("b/two.csv", "a.csv", "b/one.npz", "b/words.md", "figures/x.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"content of {name}\n")
    refresh(tmp_path, [path for path in tmp_path.rglob("*") if path.is_file()])
    return tmp_path


def names(results: Path) -> list[str]:
    return [line.split("  ")[1] for line in (results / SUMS).read_text().splitlines()]


def test_the_list_is_sorted_and_sha256sum_reads_it(results: Path) -> None:
    assert names(results) == ["a.csv", "b/one.npz", "b/two.csv"]
    assert check(results) == 3
    if shutil.which("sha256sum"):
        command = ["sha256sum", "--strict", "-c", SUMS]
        subprocess.run(command, cwd=results, check=True, capture_output=True)


def changed(path: Path) -> None:
    path.write_text(path.read_text() + "x")


def emptied(path: Path) -> None:
    path.write_text("")


def removed(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    ("happens", "words"), [(changed, "was changed"), (emptied, "was changed"), (removed, "is missing")]
)
@pytest.mark.parametrize("name", ["a.csv", "b/one.npz"])
def test_what_happened_is_named_and_taken_on_purpose(
    happens: Callable[[Path], None], words: str, name: str, results: Path
) -> None:
    happens(results / name)
    with pytest.raises(UserError, match=rf"{name} {words}, according to .*{SUMS}: put back") as caught:
        check(results)
    assert "\n" not in str(caught.value)
    assert f"python scripts/checksums.py {results / name}" in str(caught.value)
    before = (results / SUMS).read_text().splitlines()
    refresh(results, [results / name])
    assert check(results) in (2, 3)
    after = (results / SUMS).read_text().splitlines()
    assert [line for line in before if not line.endswith(name)] == [
        line for line in after if not line.endswith(name)
    ]


def test_a_new_file_must_be_listed_and_what_is_no_data_need_not(results: Path) -> None:
    (results / "tables").mkdir()
    (results / "tables" / "x.md").write_text("table")
    assert check(results) == 3
    (results / "new.csv").write_text("x\n")
    changed(results / "a.csv")
    with pytest.raises(
        UserError, match=r"a\.csv was changed, according to .* \(other files that do not fit it: 1\)"
    ):
        check(results)
    refresh(results, [results / "new.csv", results / "a.csv", results / "tables/x.md", results / "../x.csv"])
    assert names(results) == ["a.csv", "b/one.npz", "b/two.csv", "new.csv"]
    assert check(results) == 4


def test_a_folder_stands_for_its_files_also_when_it_is_gone(results: Path) -> None:
    changed(results / "a.csv")
    (results / "b" / "new.csv").write_text("x\n")
    (results / "b" / "two.csv").unlink()
    refresh(results, [results / "b"])
    assert names(results) == ["a.csv", "b/new.csv", "b/one.npz"]
    shutil.rmtree(results / "b")
    refresh(results, [results / "b"])
    assert names(results) == ["a.csv"]
    with pytest.raises(UserError, match=r"a\.csv was changed"):
        check(results)


@pytest.mark.parametrize("text", [None, "", "nonsense\n", "0" * 64 + " a.csv\n", "\0"])
def test_a_list_that_is_missing_or_damaged(text: str | None, results: Path) -> None:
    if text is None:
        (results / SUMS).unlink()
    else:
        (results / SUMS).write_text(text)
    with pytest.raises(UserError) as caught:
        check(results)
    assert "\n" not in str(caught.value) and SUMS in str(caught.value)


def git(folder: Path, *arguments: str) -> int:
    identity = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=False, capture_output=True).returncode


@pytest.fixture
def merged(tmp_path: Path) -> Callable[[list[str], list[str]], Path]:
    """Two branches that change files of the same twelve, as git merges them."""

    def merge(ours: list[str], theirs: list[str]) -> Path:
        results = tmp_path / "results"
        results.mkdir()
        for number in range(12):
            (results / f"{number:02}.csv").write_text(f"{number}\n")
        refresh(results, results.glob("*.csv"))
        for command in (["init"], ["add", "."], ["commit", "-m", "all"], ["branch", "theirs"]):
            assert git(results, *command) == 0
        for branch, files in (("main", ours), ("theirs", theirs)):
            assert git(results, "checkout", branch) == 0
            for name in files:
                (results / name).write_text(f"{branch}\n")
            refresh(results, [results / name for name in files])
            assert git(results, "commit", "-am", branch) == 0
        assert git(results, "checkout", "main") == 0
        git(results, "merge", "theirs")
        return results

    return merge


def test_changes_of_files_apart_merge_by_themselves(merged: Callable[..., Path]) -> None:
    results = merged(["01.csv"], ["09.csv"])
    assert check(results) == 12


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(["04.csv"], ["05.csv"]), (["04.csv", "06.csv"], ["05.csv"]), (["04.csv"], ["04.csv"])],
)
def test_after_a_conflict_one_command_makes_it_whole(
    ours: list[str], theirs: list[str], merged: Callable[..., Path]
) -> None:
    results = merged(ours, theirs)
    for name in set(ours) & set(theirs):
        assert git(results, "checkout", "--theirs", name) == 0
    with pytest.raises(UserError, match="after a merge conflict, run python"):
        check(results)
    refresh(results, [results / name for name in set(ours) & set(theirs)])
    assert check(results) == 12


def test_a_conflict_does_not_hide_damage(merged: Callable[..., Path]) -> None:
    results = merged(["04.csv"], ["05.csv"])
    changed(results / "04.csv")
    refresh(results, [results / "01.csv"])
    with pytest.raises(UserError, match=r"04\.csv was changed"):
        check(results)


def test_many_at_a_time_lose_nothing(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.csv" for number in range(40)]

    def add(path: Path) -> None:
        path.write_text(path.name)
        refresh(tmp_path, [path])

    with ThreadPool(8) as pool:
        pool.map(add, paths)
    assert check(tmp_path) == 40


def test_the_committed_results_are_as_listed(root: Path) -> None:
    n = check(root / "results")
    assert n == sum(path.suffix in DATA for path in (root / "results").rglob("*"))
    assert re.fullmatch(r"([0-9a-f]{64}  \S+\n)+", (root / "results" / SUMS).read_text())


def test_a_folder_stands_for_all_files_in_it_also_the_folder_of_the_list(results: Path) -> None:
    inside = results / "v1.5" / "x.csv"
    inside.parent.mkdir()
    inside.write_text("1")
    refresh(results, [inside.parent])
    assert check(results) == 4
    for path in results.rglob("*.csv"):
        changed(path)
    refresh(results, [results])
    assert check(results) == 4


@pytest.mark.parametrize("name", ["c.csv", "bb", "b/two.cvs"])
def test_a_mistyped_path_is_named(name: str, results: Path) -> None:
    with pytest.raises(UserError, match=rf"{results / name} does not exist, and .*{SUMS} does not list it"):
        check_named(results, [results / "a.csv", results / name])


def test_what_is_gone_on_purpose_is_no_mistyped_path(results: Path) -> None:
    shutil.rmtree(results / "b")
    (results / "a.csv").unlink()
    check_named(results, [results / "b", results / "a.csv", results / "figures" / "x.png", results])
