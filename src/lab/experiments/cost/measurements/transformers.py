"""Time and memory of a vote per example for models of ``transformers``, whole and with LoRA.

As the measurement ``gradients``, with other models. It needs the extra ``transformers``.
"""

from __future__ import annotations

from functools import partial

from lab.experiments.cost.measurements.gradients import measure
from lab.experiments.cost.workloads import of_transformers
from lab.experiments.measurement import Parts
from lab.experiments.step_cost import default_device


def parts(steps: int | None = None, device: str | None = None, threads: int = 2) -> Parts:
    """Return the parts of ``cost/transformers.csv``: one part per model.

    Args:
        steps: the number of timed steps per fast way (default: a number that suits the model).
        device: ``cpu`` or ``cuda`` (default: the GPU where there is one).
        threads: the number of CPU threads.
    """
    device = device or default_device()
    return {
        name.replace(", ", "_").replace(" ", ""): partial(
            measure, "cost/transformers.csv", name, steps or workload.steps, device, threads
        )
        for name, workload in of_transformers().items()
    }
