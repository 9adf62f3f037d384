"""``python -m fencepost sweep GRID --executor tcp://ADDRESS``, or ``reproduce PAPER``: on other hosts, from a shell."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from typing import Any

from ._errors import FencepostError
from ._reproduce import reproduce
from ._sweep import MOST, sweep


def main() -> int:
    """Runs the command line; the answer is the exit code, as the command's."""
    parser = argparse.ArgumentParser(prog="python -m fencepost", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    s = commands.add_parser("sweep", help="run a grid and keep it in a folder")
    s.add_argument("grid", help="TOML file of the grid")
    s.add_argument("--most-cells", type=int, default=MOST, help="cells that a grid may have")
    r = commands.add_parser("reproduce", help="reproduce a paper's experiments, or those of a folder")
    r.add_argument("paper", help="paper, or a folder with an experiment of your own")
    r.add_argument("--scale", choices=("quick", "full"), default="quick", help="how much work")
    r.add_argument("--seed", type=int, default=1, help="seed of every random choice")
    r.add_argument("--readings", action="store_true", help="run every other reading besides, each alone")
    for c in (s, r):
        c.add_argument("--executor", metavar="ADDRESS", help="Dask scheduler, such as tcp://host:8786; default: this host")
        c.add_argument("--jobs", type=int, help="runs at a time on this host")
        c.add_argument("-o", "--output", metavar="DIR", help="folder of results; default: runs/NAME")
    args = parser.parse_args()
    how: dict[str, Any] = {"folder": args.output, "jobs": args.jobs}

    def go() -> tuple[dict[str, Any], int]:
        if args.command == "sweep":
            found = sweep(args.grid, most_cells=args.most_cells, **how)
            return found.to_dict(), 2 if found.failed else int(found.violated > 0)
        done = reproduce(args.paper, scale=args.scale, seed=args.seed, readings=args.readings, **how)
        return done.to_dict(), int(len(done.unexpected) > 0)

    try:
        if args.executor is None:
            document, code = go()
        else:
            with import_module("distributed").Client(args.executor, timeout="30s") as client:
                how["executor"] = client
                document, code = go()
    except FencepostError as e:
        print(f"error: {e}", file=sys.stderr)
        return e.exit_code
    except OSError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    print(json.dumps(document, indent=2))
    return code


if __name__ == "__main__":
    sys.exit(main())
