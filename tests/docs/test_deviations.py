"""The list of deviations is whole: what the code marks is listed, what is listed exists."""

from __future__ import annotations

import re
from pathlib import Path

from docs.page_text import page_text


def test_every_deviation_in_the_code_is_listed(root: Path) -> None:
    listed = (root / "docs" / "deviations.md").read_text()
    marked = [
        path.relative_to(root).as_posix()
        for folder, kind in (("src", "*.py"), ("scripts", "*.py"), ("conf", "*.yaml"))
        for path in sorted((root / folder).rglob(kind))
        if "Deviation:" in path.read_text()
    ]
    assert len(marked) > 10
    assert not [path for path in marked if f"`{path}`" not in listed]


def test_every_file_listed_exists(root: Path) -> None:
    listed = re.findall(r"`((?:src|conf|scripts)/[^`]+)`", (root / "docs" / "deviations.md").read_text())
    assert listed
    assert not [path for path in listed if not any(root.glob(path))]


def test_sizes_of_the_teacher_on_mujoco(root: Path) -> None:
    """Small scale against thesis, table C.6: c_1 = 96, c_2 = 256 (the last convolution), c_3 = 768 units."""
    config = (root / "conf" / "dataset" / "mujoco_returns.yaml").read_text()
    (channels,) = re.findall(r"^teacher_channels: \$\{scale:\[([\d,]+)\],\[([\d,]+)\]\}", config, re.M)
    (units,) = re.findall(r"^teacher_units: \$\{scale:(\d+),(\d+)\}", config, re.M)
    small, whole = ([int(number) for number in numbers.split(",")] for numbers in channels)
    assert whole == [96, 96, 96, 256] and int(units[1]) == 768
    assert [3 * number for number in small[:-1]] == whole[:-1] and 4 * small[-1] == whole[-1]
    assert 3 * int(units[0]) == int(units[1])
    listed = page_text(root, "deviations")
    assert (
        "the teacher has a third of the thesis's channels, in the last convolution a quarter, and a third "
        "of the units of the layer after it"
    ) in listed


def test_kernels_of_the_simulator(root: Path) -> None:
    """Small scale against thesis, appendix A.0.1: 32 or 48."""
    search = (root / "conf" / "search" / "skip_intervals" / "room_runner.yaml").read_text()
    assert "simulator.kernels: {choice: [12, 16]}" in search
    listed = page_text(root, "deviations")
    assert "the simulator has 12 or 16 kernels instead of 32 or 48" in listed


def test_passes_of_the_expert_over_its_frames(root: Path) -> None:
    folder = root / "conf" / "expert"
    passes = [
        int(re.findall(r"^update_epochs: (\d+)", (folder / name).read_text(), re.M)[0])
        for name in ("hard.yaml", "small.yaml")
    ]
    assert passes == [1, 3]
    listed = page_text(root, "deviations")
    assert "each update uses its frames once instead of three times" in listed
