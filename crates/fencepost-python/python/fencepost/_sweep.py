"""Sweeps, on this host and on others."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from ._calls import Path, _cores
from ._errors import InputError
from ._executors import Executor, on
from ._progress import Progress, shown
from ._results import Run, Sweep, Table, build

#: Cells that a grid may have unless more are asked for.
MOST = 1_000_000
Grid = Mapping[str, Any] | Path


def _plan(grid: Grid, most: int) -> _core.Plan:
    if isinstance(grid, Mapping):
        return _core.Plan.read(None, json.dumps(grid), most)
    name = os.fspath(grid)
    with open(name, encoding="utf-8") as f:
        return _core.Plan.read(name, f.read(), most)


def sweep(
    grid: Grid,
    *,
    folder: Path | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    shard: tuple[int, int] | None = None,
    memory: int | None = None,
    most_cells: int = MOST,
    progress: bool | Progress | None = None,
) -> Sweep:
    """Runs a grid and keeps it in a folder, which other sweeps and processes may share; a second call resumes.

    ``grid`` is a TOML file or a dictionary of the same form: ``base``, ``product``, ``zip``, ``latin``, ``cell``, ``only`` and ``skip``.
    ``executor`` is anything with the ``submit`` of ``concurrent.futures``, a Dask client too; its workers run the cells and this
    process keeps them. Without one, ``jobs`` threads of this process do, within ``memory`` bytes. ``shard`` ``(i, n)`` runs every n-th
    cell from the i-th on. A cell that fails carries its error in the table and stops no other.
    """
    plan = _plan(grid, most_cells)
    if shard is not None:
        plan = plan.shard(*shard)
    if len(plan) == 0:
        raise InputError("the grid has no cell to run", "its conditions, or the shard, leave nothing")
    stem = "sweep" if isinstance(grid, Mapping) else os.path.splitext(os.path.basename(os.fspath(grid)))[0]
    root = os.fspath(folder) if folder else os.path.join("runs", stem)
    there = _core.Folder(root)
    with shown("sweep", progress) as told:
        if executor is None:
            ended = json.loads(plan.run(there, jobs or _cores(), memory, told))
        else:
            requests = (json.dumps(json.loads(plan.cell(i))["request"]) for i in range(len(plan)))
            ended = on(executor, requests, there, told)
    table = plan.table(there, json.dumps(ended["cells"]))
    part = f".{shard[0]}-of-{shard[1]}" if shard else ""
    name = f"sweeps/{stem}-{plan.digest[:12]}{part}"
    there.write(f"{name}.parquet", table.to_bytes("parquet"))
    document = {
        "cells": len(plan),
        **ended["tally"],
        "violated": sum(c["unexpected"] for c in ended["cells"]),
        "folder": root,
        "table": f"{name}.parquet",
    }
    return build(Sweep, document, table=Table(table))


def matrix(
    designs: Sequence[str] = (),
    programs: Sequence[str] = (),
    machines: Sequence[str] = (),
    *,
    ops: int = 16,
    warmup: int = 2,
    threads: int = 2,
    seed: int = 1,
    points: int = 100,
    folder: Path = os.path.join("runs", "matrix"),
    **how: Any,
) -> Sweep:
    """Runs designs with programs on machines, everything of a kind where nothing is named, each with a crash check.

    ``ops`` and ``warmup`` are operations per thread, ``points`` crash points examined at most in each run; further arguments are those
    of :func:`sweep`. Which design wins where is a query on the table (docs/sweeps.md).
    """
    asked = {"designs": designs, "programs": programs, "machines": machines, "ops": ops, "warmup": warmup}
    asked |= {"threads": threads, "seed": seed, "points": points}
    return sweep(json.loads(_core.matrix(json.dumps(asked))), folder=folder, **how)


def run_of(sweep_folder: Path, key: str) -> Run | None:
    """A finished run of a folder by its key, as the table's column ``run`` names it."""
    found = _core.Folder(sweep_folder).get(key)
    if found is None:
        return None
    document, tables = found
    return build(Run, json.loads(document), tables={name: Table(t) for name, t in tables})
