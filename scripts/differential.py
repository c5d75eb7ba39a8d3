"""Compare every way to obtain gradients with a plain loop of autograd, on random small models.

    python scripts/differential.py --n 20000 --seed 1

In each case, a way must give the same numbers as the loop or refuse the model with an error. The script
writes a file that reproduces each distinct fault. The same command continues where it was stopped. The exit
status is 1 if anything differs. The tests run a few such cases.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]


def main() -> None:
    """Draw the cases, run them, and print how often each fault occurred."""
    from ilc.errors import UserError
    from lab.configuration.command_line import command_parser

    parser = command_parser(__doc__)
    parser.add_argument("--n", type=int, default=1000, help="number of cases (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random models (default: 0)")
    parser.add_argument("--to", type=Path, default=Path("outputs/differential"), help="folder for the faults")
    parser.add_argument(
        "--without",
        nargs="*",
        default=[],
        metavar="NAME",
        help="pieces, losses and changes that are left out",
    )
    arguments = parser.parse_args()
    import torch

    if arguments.n < 0:
        raise UserError(f"--n must be at least 0, got {arguments.n}")
    from differential.campaign import Campaign
    from differential.case import check_known

    check_known(arguments.without)
    torch.set_num_threads(1)
    campaign = Campaign(arguments.to / str(arguments.seed))
    campaign.go_on(arguments.n, arguments.seed, frozenset(arguments.without))
    for sign, fault in sorted(campaign.faults.items()):
        print(f"{fault['count']:5d} times, last in case {fault['last']}: {sign} ({fault['file']})")
    raise SystemExit(bool(campaign.faults))


if __name__ == "__main__":
    from lab.configuration.command_line import run_command

    run_command(main)
