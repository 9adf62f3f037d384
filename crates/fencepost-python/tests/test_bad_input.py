"""What goes wrong is said clearly, and loses nothing that is finished."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import fencepost

GRID = {"base": {"ops": 20, "warmup": 2, "threads": 2}, "product": [{"program": ["cq", "sps"], "seed": [1, 2, 3]}]}


def finished(folder: Path) -> list[str]:
    return sorted(p.name for p in (folder / "runs").glob("*.json"))


def test_names_have_their_nearest(tmp_path: Path) -> None:
    for grid, near in [
        ({"product": [{"program": ["spss"]}]}, "sps"),
        ({"product": [{"designn": ["so"]}]}, "design"),
        ({"product": [{"design.delegated.entires": [4]}]}, "design.delegated.entries"),
        ({"prodct": [{"seed": [1]}]}, "product"),
        ({"experiment": [{"paper": "dpo", "reading": "log-databse=inline"}]}, "log-database"),
    ]:
        with pytest.raises(fencepost.InputError) as e:
            fencepost.sweep(grid, folder=tmp_path / "x")
        assert f"`{near}`" in (e.value.hint or ""), (grid, str(e.value))
    assert not (tmp_path / "x").exists()


def test_units_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(fencepost.InputError, match="300parsecs"):
        fencepost.run("cq", set={"pm.media.write_pulse": "300parsecs"})
    bounds = {"from": "100ns", "to": "4GHz"}
    with pytest.raises(fencepost.InputError, match="no range"):
        fencepost.sweep({"latin": [{"samples": 2, "pm.media.write_pulse": bounds}]}, folder=tmp_path / "x")
    # A wrong unit in one cell of a grid stops no other cell.
    s = fencepost.sweep(
        {"base": {"ops": 5, "threads": 1}, "product": [{"pm.media.write_pulse": ["100ns", "100kg"]}]}, folder=tmp_path
    )
    assert (s.failed, s.ran) == (1, 1)
    assert "100kg" in next(row["error"] for row in s.table.rows() if "error" in row)


def test_a_grid_of_a_thousand_million_cells_is_refused_at_once(tmp_path: Path) -> None:
    side = {"from": 1, "to": 1000}
    with pytest.raises(fencepost.InputError, match="1,000,000,000 cells") as e:
        fencepost.sweep({"product": [{"seed": side, "ops": side, "warmup": side}]}, folder=tmp_path / "x")
    assert "latin" in (e.value.hint or "") and not (tmp_path / "x").exists()


class Raising:
    """An executor that takes some cells and then refuses."""

    def __init__(self, takes: int) -> None:
        self.takes = takes

    def submit(self, fn: Any, /, *args: Any) -> Future[Any]:
        if self.takes == 0:
            raise RuntimeError("cannot schedule new futures after shutdown")
        self.takes -= 1
        future: Future[Any] = Future()
        future.set_result(fn(*args))
        return future


def test_an_executor_that_raises(tmp_path: Path) -> None:
    with pytest.raises(fencepost.InternalError, match="the executor takes no cell: RuntimeError: cannot schedule") as e:
        fencepost.sweep(GRID, folder=tmp_path, executor=Raising(4))
    assert "the same call goes on" in (e.value.hint or "")
    assert len(finished(tmp_path)) == 4, "what had come back is kept"
    with ThreadPoolExecutor(2) as executor:
        s = fencepost.sweep(GRID, folder=tmp_path, executor=executor)
    assert (s.ran, s.resumed, s.failed) == (2, 4, 0)


@pytest.mark.skipif(os.name != "posix", reason="limits of a process")
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """Files that grow past a limit fail as on a full disk: the results that were written stay, and none is half there."""
    text = f"""
import fencepost, resource, sys
grid, folder = {GRID!r}, {str(tmp_path / "out")!r}
fencepost.sweep({{**grid, "only": [{{"seed": 1}}]}}, folder=folder, jobs=1)
resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
try:
    fencepost.sweep(grid, folder=folder, jobs=1)
except fencepost.FileError as e:
    print(e)
"""
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert said.returncode == 0 and "cannot write" in said.stdout, (said.stdout, said.stderr)
    before = finished(tmp_path / "out")
    assert len(before) == 2
    s = fencepost.sweep(GRID, folder=tmp_path / "out")
    assert (s.ran, s.resumed, s.failed) == (4, 2, 0)
    there = fencepost.sweep(GRID, folder=tmp_path / "there")
    assert there.table.to_bytes("csv") == s.table.to_bytes("csv")
    for name in finished(tmp_path / "there"):
        assert (tmp_path / "there/runs" / name).read_bytes() == (tmp_path / "out/runs" / name).read_bytes()


def test_a_folder_of_a_newer_version(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text('{"format": 99}')
    for call in (
        lambda: fencepost.sweep({"base": {"ops": 5}}, folder=tmp_path),
        lambda: fencepost.reproduce("dpo", folder=tmp_path),
        lambda: fencepost.infer("dpo", folder=tmp_path),
    ):
        with pytest.raises(fencepost.InputError, match="newer version"):
            call()
    assert [p.name for p in tmp_path.iterdir()] == ["store.json"]
