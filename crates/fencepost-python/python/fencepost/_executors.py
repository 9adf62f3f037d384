"""Runs on executors of other processes and hosts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol

from . import _core
from ._errors import FencepostError, InternalError
from ._progress import Progress

#: Times that a cell is handed out again when its worker died.
AGAIN = 3
#: Seconds between looks at whether the work was stopped.
LOOK = 0.2


class Executor(Protocol):
    """What ``concurrent.futures`` executors and Dask clients have in common."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any: ...


def simulate(request: str) -> str:
    """Runs one cell; workers of other processes and hosts are sent this."""
    try:
        return json.dumps({"done": json.loads(_core.simulate(request))})
    except FencepostError as e:
        kind = {1: "convicted", 2: "input"}.get(e.exit_code, "internal")
        return json.dumps({"kind": kind, "error": str(e)})


class _Cells:
    """The cells of a sweep on an executor: looked up once, each run handed out once, kept as they come back."""

    def __init__(self, requests: Iterable[str], folder: _core.Folder, told: Progress | None) -> None:
        self.folder, self.told, self.done = folder, told, 0
        asked = list(requests)
        self.total = len(asked)
        self.ends: list[dict[str, Any]] = [{"key": None, "unexpected": False} for _ in range(self.total)]
        self.tally = {"ran": 0, "resumed": 0, "shared": 0, "failed": 0}
        #: Cells and request by key, of runs that are not finished.
        self.open: dict[str, tuple[list[int], str]] = {}
        seen: dict[str, str] = {}
        for i, request in enumerate(asked):
            try:
                key, finished = folder.find(request)
            except FencepostError as e:
                self.end([i], kind="input", error=str(e))
                continue
            if key in self.open:
                self.open[key][0].append(i)
            elif finished:
                self.end([i], step="shared" if key in seen else "resumed", key=key)
                seen[key] = key
            else:
                self.open[key] = ([i], request)

    def end(self, cells: list[int], step: str = "failed", **how: Any) -> None:
        for n, i in enumerate(cells):
            self.ends[i].update(how)
            self.tally[step if n == 0 or step == "failed" else "shared"] += 1
            self.done += 1
            if self.told:
                self.told(self.done, self.total)

    def came_back(self, key: str, answer: dict[str, Any]) -> None:
        cells, _ = self.open.pop(key)
        if "done" not in answer:
            self.end(cells, kind=answer["kind"], error=answer["error"])
            return
        unexpected = self.folder.keep(json.dumps(answer["done"]))
        self.end(cells, "ran", key=key, unexpected=unexpected)


def on(
    executor: Executor, requests: Iterable[str], folder: _core.Folder, told: Progress | None
) -> dict[str, Any]:
    """Brings the runs of these requests to their ends on an executor, and keeps them in a folder."""
    cells = _Cells(requests, folder, told)
    waiting: dict[Any, tuple[str, int]] = {}
    try:
        for key, (_, request) in list(cells.open.items()):
            waiting[_submit(executor, request)] = (key, 0)
        while waiting:
            for future in _first(waiting):
                key, tries = waiting.pop(future)
                try:
                    cells.came_back(key, json.loads(future.result()))
                except FencepostError:
                    raise
                except Exception as e:
                    # The worker died, or the executor lost it: the run was not finished, so it is handed out again.
                    if tries >= AGAIN:
                        raise InternalError(
                            f"the executor failed {tries + 1} times on one cell: {type(e).__name__}: {e}",
                            GOES_ON,
                        ) from e
                    waiting[_submit(executor, cells.open[key][1])] = (key, tries + 1)
    except BaseException:
        _rescue(waiting, cells)
        raise
    finally:
        for future in waiting:
            future.cancel()
    return {"cells": cells.ends, "tally": cells.tally}


#: What to do after a failure of the executor.
GOES_ON = "what is finished is kept; the same call goes on from there"


def _submit(executor: Executor, request: str) -> Any:
    try:
        return executor.submit(simulate, request)
    except Exception as e:
        raise InternalError(f"the executor takes no cell: {type(e).__name__}: {e}", GOES_ON) from e


def _rescue(waiting: Mapping[Any, tuple[str, int]], cells: _Cells) -> None:
    """Keeps what is done before the work ends early."""
    for future, (key, _) in waiting.items():
        try:
            if future.done():
                cells.came_back(key, json.loads(future.result()))
        except Exception:
            # What is not kept runs again; the failure that ended the work is the one to tell.
            continue


def _first(waiting: Mapping[Any, Any]) -> list[Any]:
    """Those that are done, at least one of them."""
    standard = all(isinstance(f, Future) for f in waiting)
    while True:
        if standard:
            done = list(wait(waiting, timeout=LOOK, return_when=FIRST_COMPLETED).done)
        else:
            done = [f for f in waiting if f.done()]
        if done:
            return done
        # Off the main thread nobody raises what a signal asked for.
        if _core.stopped():
            raise KeyboardInterrupt
        if not standard:
            time.sleep(0.01)
