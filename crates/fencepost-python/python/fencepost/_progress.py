"""Progress bars, where somebody looks and tqdm is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

Progress = Callable[[int, int], object]


def _somebody_looks() -> bool:
    notebook = "ipykernel" in sys.modules
    return notebook or sys.stderr.isatty()


@contextmanager
def shown(title: str, progress: bool | Progress | None) -> Iterator[Progress | None]:
    """What to tell of progress: a callable of (done, total), or a bar. ``None``: a bar where somebody looks."""
    if callable(progress):
        yield progress
        return
    if progress is False or (progress is None and not _somebody_looks()):
        yield None
        return
    try:
        tqdm = import_module("tqdm.auto").tqdm
    except ImportError:
        yield None
        return
    with tqdm(desc=title, leave=False) as bar:

        def told(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield told
