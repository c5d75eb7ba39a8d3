"""Every place that reads a config, a pickle or weights, or imports by name, and why that is safe.

A new place fails here until somebody has looked at what it may be given, and says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

BARE = {"exec", "eval", "compile", "__import__", "instantiate", "locate"}
"""Functions that run what they are given."""

READERS = {
    *BARE - {"eval", "compile"},
    "OmegaConf.load",
    "OmegaConf.create",
    "OmegaConf.resolve",
    "get_class",
    "get_method",
    "get_object",
    "import_module",
    "load",
    "loads",
    "read_pickle",
    "create_study",
    "load_study",
    "RDBStorage",
    "JournalStorage",
    "unpack_archive",
    "extractall",
}
"""Last parts of the names of what could run what it reads."""

HARMLESS = ("json.loads",)

OF_THE_PROJECT = "a name or file of the project itself"
ON_THE_COMMAND_LINE = (
    "a file that the user names on the command line, read as text, no interpolation resolved"
)
WEIGHTS_ONLY = "tensors and plain values alone, weights_only=True"
ARRAYS = "arrays, allow_pickle=False or numpy's default, which is the same"
OWN_PIPE = "what another process of this command was sent or sent, through a pipe that nobody else has"
GENERATED = "an instruction of generated machine code that reads a number from memory"
IN_MEMORY = "values that are in memory already, made into text"

PLACES = {
    "scripts/benchmark.py import_module": OF_THE_PROJECT,
    "scripts/make_figures.py import_module": OF_THE_PROJECT,
    "scripts/study.py load_study": "lab.runs.study.study_file.load_study, no Optuna",
    "src/lab/runs/study/own_tables.py load_study": "lab.runs.study.study_file.load_study, no Optuna",
    "src/ilc/__init__.py import_module": OF_THE_PROJECT,
    "src/ilc/integrations/__init__.py import_module": OF_THE_PROJECT,
    "src/lab/__init__.py import_module": OF_THE_PROJECT,
    "src/ilc/aggregators/_gram_weights.py import_module": OF_THE_PROJECT,
    "src/lab/configuration/groups.py OmegaConf.load": OF_THE_PROJECT,
    "src/lab/configuration/groups.py import_module": OF_THE_PROJECT,
    "src/lab/configuration/missing_groups.py OmegaConf.load": OF_THE_PROJECT,
    "src/lab/configuration/searched_settings.py OmegaConf.load": OF_THE_PROJECT,
    "src/lab/configuration/section.py import_module": "a config of the command line, or a stored one after "
    "check_stored_targets: tests/lab/runs/one_run/test_folder_from_elsewhere.py",
    "src/lab/configuration/stored_targets.py OmegaConf.load": OF_THE_PROJECT,
    "src/lab/experiments/coinrun/data.py np.load": ARRAYS,
    "src/lab/experiments/coinrun/expert.py torch.load": WEIGHTS_ONLY,
    "src/lab/experiments/coinrun/expert_training.py record.load": "the checkpoint, see expert_record.py",
    "src/lab/experiments/coinrun/figures/figure17.py np.load": ARRAYS,
    "src/lab/experiments/coinrun/measurements/expert.py OmegaConf.load": OF_THE_PROJECT,
    "src/lab/experiments/coinrun/procgen_import.py import_module": OF_THE_PROJECT,
    "src/lab/experiments/distillation/mujoco_rollouts.py np.load": ARRAYS,
    "src/lab/experiments/skip_intervals/examples_drawing.py np.load": ARRAYS,
    "src/lab/experiments/skip_intervals/rollouts_drawing.py np.load": ARRAYS,
    "src/lab/experiments/skip_intervals/thumbnail.py np.load": ARRAYS,
    "src/lab/figures/claims.py import_module": OF_THE_PROJECT,
    "src/lab/figures/studies.py OmegaConf.load": OF_THE_PROJECT,
    "src/lab/figures/thumbnails.py import_module": OF_THE_PROJECT,
    "src/ilc/kernels/_compiled.py import_module": OF_THE_PROJECT,
    "src/ilc/kernels/_gpu_batch_norm.py tl.load": GENERATED,
    "src/ilc/kernels/_gpu_products.py tl.load": GENERATED,
    "src/ilc/kernels/_product_tile.py import_module": "numba's own module, by a fixed name",
    "src/ilc/kernels/_tile_instructions.py builder.load": GENERATED,
    "src/ilc/kernels/_tile_instructions.py import_module": "modules of numba and llvmlite, by fixed names",
    "src/ilc/kernels/_tile_instructions.py self.builder.load": GENERATED,
    "src/ilc/kernels/_tile_instructions.py self.load": GENERATED,
    "src/ilc/kernels/_tile_instructions.py write.load": GENERATED,
    "src/lab/runs/__init__.py import_module": OF_THE_PROJECT,
    "src/lab/runs/one_run/metrics/__init__.py import_module": OF_THE_PROJECT,
    "src/lab/runs/pool/cluster/options.py OmegaConf.load": ON_THE_COMMAND_LINE,
    "src/lab/runs/one_run/run_directory.py OmegaConf.create": IN_MEMORY,
    "src/lab/runs/one_run/run_files.py OmegaConf.create": "a stored config, no interpolation resolved: "
    "tests/lab/runs/one_run/test_folder_from_elsewhere.py",
    "src/lab/runs/search/search_file.py OmegaConf.load": ON_THE_COMMAND_LINE,
    "src/lab/runs/search/server.py RDBStorage": "trials, see create_study",
    "src/lab/runs/search/storage.py optuna.create_study": "trials, whose parameters are checked against the "
    "space: tests/lab/runs/search/test_stored_trials.py",
    "src/lab/runs/search/tuned.py OmegaConf.create": IN_MEMORY,
    "src/lab/runs/study/study_file.py OmegaConf.load": ON_THE_COMMAND_LINE,
    "src/lab/runs/study/measurement_step.py import_module": ON_THE_COMMAND_LINE,
    "src/lab/runs/pool/worker_process.py pickle.loads": f"{OWN_PIPE}, or a file that submitit wrote "
    "for this job",
    "src/lab/runs/pool/job.py pickle.loads": f"{OWN_PIPE}, or a result of a job in the queue: "
    "tests/lab/runs/pool/cluster/test_local.py",
    "src/lab/files/sealed.py torch.load": WEIGHTS_ONLY,
    "src/lab/machine/torchvision_import.py import_module": OF_THE_PROJECT,
    "src/lab/machine/transformers_import.py import_module": OF_THE_PROJECT,
}


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Name of every call in a file that could run what it reads."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name not in HARMLESS and (name in BARE | READERS or name.rpartition(".")[2] in READERS):
                yield name, node


def places() -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = {}
    for folder in ("src", "scripts"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name, call in calls(path):
                found.setdefault(f"{path.relative_to(ROOT)} {name}", []).append(call)
    return found


def test_every_place_is_known() -> None:
    assert set(places()) == set(PLACES)


def option(call: ast.Call, name: str) -> object:
    for keyword in call.keywords:
        if keyword.arg == name:
            return ast.literal_eval(keyword.value)
    return None


def test_they_say_so() -> None:
    for place, found in places().items():
        for call in found:
            if place.endswith("torch.load"):
                assert option(call, "weights_only") is True, place
            if place.endswith("np.load"):
                assert option(call, "allow_pickle") in (None, False), place


def test_nothing_resolves_interpolations_but_the_command_line() -> None:
    resolving = [
        str(path.relative_to(ROOT))
        for folder in ("src", "scripts")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and option_is_true(node, "resolve")
    ]
    assert resolving == ["src/lab/configuration/resolve.py"]
    selecting = [p for p in (ROOT / "src").rglob("*.py") if "OmegaConf.select" in p.read_text()]
    assert selecting == []


def option_is_true(call: ast.Call, name: str) -> bool:
    return any(
        k.arg == name and isinstance(k.value, ast.Constant) and k.value.value is True for k in call.keywords
    )
