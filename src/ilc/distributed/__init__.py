"""Exact aggregation over processes: each fills the statistics of its environments, all share the sums.

What an aggregator looks at are sums over environments, and sums add up across processes. So the masks are
those of one process that sees all environments, for every aggregator and every way of obtaining gradients.
"""

from ilc._processes import ONE_PROCESS, Processes, current, joined
from ilc.distributed._backward import backward, mixes_examples
from ilc.distributed._ddp import register_ddp_hook

__all__ = ["ONE_PROCESS", "Processes", "backward", "current", "joined", "mixes_examples", "register_ddp_hook"]
