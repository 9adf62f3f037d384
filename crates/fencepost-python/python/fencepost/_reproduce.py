"""Papers, and experiments of your own, on this host and on others."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _core
from ._calls import Path, _cores
from ._errors import InputError, InternalError
from ._executors import Executor, on
from ._progress import Progress, shown
from ._results import Reproduction, build


def reproduce(
    paper: Path,
    *,
    scale: str = "quick",
    seed: int = 1,
    reading: Mapping[str, str] | None = None,
    readings: bool = False,
    jobs: int | None = None,
    folder: Path | None = None,
    executor: Executor | None = None,
    progress: bool | Progress | None = None,
) -> Reproduction:
    """Reproduces a paper's experiments, or those of a folder of your own, and scores their claims.

    Writes ``scoreboard.csv``, ``report.html`` and every run to ``folder`` (default ``runs/PAPER``); a second call resumes.
    ``reading`` takes other readings of what the paper leaves open; with ``readings`` each other one is run alone besides.
    With ``executor``, as for :func:`sweep`, its workers run what is not finished and this process keeps it.
    """
    if scale not in ("quick", "full"):
        raise InputError(f"unknown scale `{scale}`", "quick or full")
    name = os.fspath(paper)
    asked: dict[str, Any] = {
        "paper": name,
        "full": scale == "full",
        "seed": seed,
        "asked": [f"{i}={r}" for i, r in (reading or {}).items()],
        "readings": readings,
        "jobs": jobs or _cores(),
        "folder": os.fspath(folder) if folder else os.path.join("runs", os.path.basename(name.rstrip("/"))),
    }
    if executor is not None:
        with shown(f"reproduce {name}", progress) as told:
            ended = on(executor, _core.planned(json.dumps(asked)), _core.Folder(asked["folder"]), told)
        failed = [c for c in ended["cells"] if c.get("error")]
        if failed:
            raise InternalError(f"{len(failed)} runs failed; the first: {failed[0]['error']}")
        progress = False
    with shown(f"reproduce {name}", progress) as told:
        return build(Reproduction, json.loads(_core.reproduce(json.dumps(asked), told)))
