"""Papers, and experiments of your own, on this host and on others."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from ._calls import Path, _cores
from ._errors import InputError, InternalError
from ._executors import Executor, on
from ._progress import Progress, shown
from ._results import Inference, Reproduction, build


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
            _elsewhere(executor, _core.planned(json.dumps(asked)), asked["folder"], told)
        progress = False
    with shown(f"reproduce {name}", progress) as told:
        return build(Reproduction, json.loads(_core.reproduce(json.dumps(asked), told)))


def infer(
    paper: str,
    *,
    tries: int = 1000,
    first: Sequence[str] = (),
    begin: Sequence[str] = (),
    splits: int = 5,
    full: bool = False,
    seed: int = 1,
    jobs: int | None = None,
    folder: Path | None = None,
    executor: Executor | None = None,
    progress: bool | Progress | None = None,
) -> Inference:
    """Searches the joint readings of a paper for those that agree with its published figures.

    ``first`` are claims that the best joint reading shall meet before others, ``begin`` joint readings (``INPUT=READING`` words) to begin
    from besides the primaries, ``splits`` the splits of the claims for the held-out check. Writes ``infer.json``, ``infer.md`` and every
    run to ``folder`` (default ``runs/PAPER-infer``); a second call resumes. With ``executor``, as for :func:`sweep`, its workers run what
    is not finished, each step of the search at once, and this process keeps it.
    """
    root = os.fspath(folder) if folder else os.path.join("runs", f"{paper}-infer")
    asked = {
        "paper": paper,
        "tries": tries,
        "first": list(first),
        "from": list(begin),
        "splits": splits,
        "full": full,
        "seed": seed,
        "jobs": jobs or _cores(),
        "folder": root,
    }
    raised: list[BaseException] = []

    def ahead(requests: list[str]) -> None:
        try:
            _elsewhere(executor, requests, root, None)
        except BaseException as e:
            raised.append(e)
            raise

    with shown(f"infer {paper}", progress) as told:
        try:
            found = _core.infer(json.dumps(asked), None if executor is None else ahead, told)
        except InternalError:
            if raised:
                raise raised[0] from None
            raise
    return build(Inference, json.loads(found))


def _elsewhere(
    executor: Executor | None, requests: Sequence[str], folder: str, told: Progress | None
) -> None:
    """Finishes these runs on an executor and keeps them in the folder."""
    if executor is None or not requests:
        return
    ended = on(executor, requests, _core.Folder(folder), told)
    failed = [c for c in ended["cells"] if c.get("error")]
    if failed:
        raise InternalError(f"{len(failed)} runs failed; the first: {failed[0]['error']}")
