"""``python -m fencepost sweep GRID --executor tcp://ADDRESS``, and ``reproduce``, ``infer`` and ``matrix``: on other hosts, from a shell."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from typing import Any

from ._errors import FencepostError
from ._reproduce import infer, reproduce
from ._sweep import MOST, matrix, sweep


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


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
    i = commands.add_parser("infer", help="search the joint readings of a paper")
    i.add_argument("paper", help="paper")
    i.add_argument("--tries", type=int, default=1000, help="joint readings to try besides every reading alone, about")
    i.add_argument("--splits", type=int, default=5, help="splits of the claims for the held-out check")
    i.add_argument("--seed", type=int, default=1, help="seed of every run and of the search")
    m = commands.add_parser("matrix", help="run every design with every program on every machine")
    for kind in ("designs", "programs", "machines"):
        m.add_argument(f"--{kind}", type=_names, default=(), help=f"{kind}, separated by commas; default: all")
    m.add_argument("--ops", type=int, default=16, help="measured operations per thread")
    for c in (s, r, i, m):
        c.add_argument("--executor", metavar="ADDRESS", help="Dask scheduler, such as tcp://host:8786; default: this host")
        c.add_argument("--jobs", type=int, help="runs at a time on this host")
        c.add_argument("-o", "--output", metavar="DIR", help="folder of results; default: runs/NAME")
    args = parser.parse_args()
    how: dict[str, Any] = {"folder": args.output, "jobs": args.jobs}

    def go() -> tuple[dict[str, Any], int]:
        if args.command in ("sweep", "matrix"):
            if args.command == "sweep":
                found = sweep(args.grid, most_cells=args.most_cells, **how)
            else:
                if args.output is None:
                    del how["folder"]
                found = matrix(args.designs, args.programs, args.machines, ops=args.ops, **how)
            return found.to_dict(), 2 if found.failed else int(found.violated > 0)
        if args.command == "infer":
            inferred = infer(args.paper, tries=args.tries, splits=args.splits, seed=args.seed, **how)
            return inferred.to_dict(), 0
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
