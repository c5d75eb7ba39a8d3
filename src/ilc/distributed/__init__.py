"""Exact aggregation over processes: each fills the statistics of its environments, and all share the sums.

An aggregator uses sums over environments, and sums add up across processes. So the masks equal those of one
process with all environments, for every aggregator and every way to obtain gradients.
"""

from ilc._processes import ONE_PROCESS, Processes, current, joined
from ilc.distributed._backward import backward, mixes_examples
from ilc.distributed._ddp import register_ddp_hook
from ilc.distributed._fsdp import register_fsdp_hook

__all__ = [
    "ONE_PROCESS",
    "Processes",
    "backward",
    "current",
    "joined",
    "mixes_examples",
    "register_ddp_hook",
    "register_fsdp_hook",
]
