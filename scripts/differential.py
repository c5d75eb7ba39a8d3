"""Random small models in every way, each against a plain loop of autograd: equal or refused.

    python scripts/differential.py --n 20000 --seed 1

Writes a reproduction of each distinct fault, and continues where it was stopped. The tests run a few such
cases. Status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]


def main() -> None:
    """Draw, run, count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=1000, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="of the draws")
    parser.add_argument("--to", type=Path, default=Path("outputs/differential"), help="folder of the faults")
    parser.add_argument(
        "--without", nargs="*", default=[], metavar="NAME", help="pieces, losses, changes to leave out"
    )
    arguments = parser.parse_args()
    import torch

    from differential.campaign import Campaign

    torch.set_num_threads(1)
    campaign = Campaign(arguments.to / str(arguments.seed))
    campaign.go_on(arguments.n, arguments.seed, frozenset(arguments.without))
    for sign, fault in sorted(campaign.faults.items()):
        print(f"{fault['count']:5d} times, last in case {fault['last']}: {sign} ({fault['file']})")
    raise SystemExit(bool(campaign.faults))


if __name__ == "__main__":
    main()
