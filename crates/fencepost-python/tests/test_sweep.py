"""Sweeps in Python: the same store as the command's, on executors, with workers that die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost._executors import simulate

GRID = {
    "base": {"ops": 20, "warmup": 2, "threads": 2},
    "product": [{"program": ["cq", "sps", "hash"], "design": ["so", "delegated"], "seed": [1, 2]}],
    "cell": [{"program": "cq", "design": "so", "seed": 1}, {"threads": 999}],
}
TOML = """
[base]
ops = 20
warmup = 2
threads = 2
[[cell]]
program = "cq"
design = "so"
seed = 1
[[cell]]
threads = 999
[[product]]
design = ["so", "delegated"]
program = ["cq", "sps", "hash"]
seed = [1, 2]
"""


def runs(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (folder / "runs").iterdir()}


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> tuple[fencepost.Sweep, dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("serial")
    return fencepost.sweep(GRID, folder=folder, jobs=1), runs(folder)


def same(found: fencepost.Sweep, folder: Path, serial: tuple[fencepost.Sweep, dict[str, bytes]]) -> None:
    """Every cell once, and equal to the serial run to the byte."""
    assert runs(folder) == serial[1]
    assert found.table.to_bytes("csv") == serial[0].table.to_bytes("csv")
    assert (found.cells, found.failed) == (14, 1)


def test_a_sweep_and_its_resumption(serial: Any, tmp_path: Path) -> None:
    swept, files = serial
    assert (swept.ran, swept.shared, swept.failed, len(files)) == (12, 1, 1, 24)
    again = fencepost.sweep(GRID, folder=tmp_path, jobs=2)
    same(again, tmp_path, serial)
    again = fencepost.sweep(GRID, folder=tmp_path, jobs=2)
    assert (again.ran, again.resumed + again.shared) == (0, 13)
    failed = [row for row in swept.table.rows() if "error" in row]
    assert len(failed) == 1 and "999 threads do not fit" in failed[0]["error"]
    one = next(row for row in swept.table.rows() if row.get("program") == "hash")
    run = fencepost.run_of(tmp_path, one["run"])
    assert run is not None and run.time_ps == one["time_ps"]


def test_the_command_finds_what_the_package_ran(command: str, serial: Any, tmp_path: Path) -> None:
    fencepost.sweep(GRID, folder=tmp_path, jobs=2)
    (tmp_path / "g.toml").write_text(TOML)
    args = [command, "sweep", str(tmp_path / "g.toml"), "-o", str(tmp_path), "--json"]
    said = json.loads(subprocess.run(args, capture_output=True, text=True).stdout)
    assert (said["ran"], said["cells"], said["failed"]) == (0, 14, 1), said
    assert runs(tmp_path) == serial[1]


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_executors(kind: str, serial: Any, tmp_path: Path) -> None:
    spawn = get_context("spawn")
    pool = ThreadPoolExecutor(4) if kind == "threads" else ProcessPoolExecutor(2, mp_context=spawn)
    told: list[int] = []
    with pool as executor:
        found = fencepost.sweep(GRID, folder=tmp_path, executor=executor, progress=lambda d, n: told.append(d))
    same(found, tmp_path, serial)
    assert told == list(range(1, 15))


class Unreliable:
    """Every third call is lost, as by a worker that died."""

    def __init__(self, always: bool = False) -> None:
        self.calls, self.always = 0, always

    def submit(self, fn: Any, /, *args: Any) -> Future[Any]:
        self.calls += 1
        future: Future[Any] = Future()
        if self.always or self.calls % 3 == 0:
            future.set_exception(ConnectionError("the worker died"))
        else:
            future.set_result(fn(*args))
        return future


def test_a_worker_that_dies_loses_no_cell(serial: Any, tmp_path: Path) -> None:
    executor = Unreliable()
    same(fencepost.sweep(GRID, folder=tmp_path, executor=executor), tmp_path, serial)
    assert executor.calls > 12
    with pytest.raises(fencepost.InternalError, match="the executor failed 4 times on one cell"):
        fencepost.sweep(GRID, folder=tmp_path / "never", executor=Unreliable(always=True))


def test_a_worker_of_another_version_is_refused(tmp_path: Path) -> None:
    class Old:
        def submit(self, fn: Any, /, *args: Any) -> Future[Any]:
            future: Future[Any] = Future()
            answer = fn(*args).replace(fencepost.__version__, "0.0.1+0123456789abcdef")
            future.set_result(answer)
            return future

    with pytest.raises(fencepost.InputError, match="another version"):
        fencepost.sweep({"base": {"ops": 5, "threads": 1}}, folder=tmp_path, executor=Old())


def test_grids_that_cannot_be_run(tmp_path: Path) -> None:
    many = {"from": 1, "to": 100_000}
    with pytest.raises(fencepost.InputError, match="10,000,000,000 cells"):
        fencepost.sweep({"product": [{"seed": many, "ops": many}]}, folder=tmp_path / "x")
    with pytest.raises(fencepost.InputError, match="unknown program"):
        fencepost.sweep({"product": [{"program": ["cqq"]}]}, folder=tmp_path / "x")
    with pytest.raises(fencepost.InputError, match="no cell"):
        fencepost.sweep({"base": {}}, shard=(2, 2), folder=tmp_path / "x")
    assert not (tmp_path / "x").exists()
    (tmp_path / "store.json").write_text('{"format": 99}')
    with pytest.raises(fencepost.InputError, match="newer version"):
        fencepost.sweep({"base": {"ops": 5}}, folder=tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_dask_with_a_worker_killed(serial: Any, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    import os as system
    import signal

    with distributed.LocalCluster(
        n_workers=4, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
    ) as cluster, distributed.Client(cluster) as client:
        pids = list(client.run(system.getpid).values())
        killed: list[int] = []

        def told(done: int, total: int) -> None:
            if done == 4 and not killed:
                system.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])

        found = fencepost.sweep(GRID, folder=tmp_path / "out", executor=client, progress=told)
    assert killed
    same(found, tmp_path / "out", serial)


def test_what_workers_are_sent_and_send() -> None:
    answer = json.loads(simulate(json.dumps(fencepost.request("cq", ops=5, threads=1))))
    assert set(answer["done"]) == {"key", "config", "result", "host"}
    answer = json.loads(simulate(json.dumps(fencepost.request("nosuch"))))
    assert answer["kind"] == "input" and "unknown program" in answer["error"]


def test_a_paper_on_an_executor(tmp_path: Path) -> None:
    """An experiment in a folder, run by the executor, then scored here: as if it had been run here."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "experiment.toml").write_text(
        'paper = "mine"\nabout = "x"\nmachine = "dpo"\n[points.volatile]\ndesign = "volatile"\n[points.so]\ndesign = "so"\n'
        "[scale.quick]\nops = 20\nwarmup = 2\n[scale.full]\nops = 200\nwarmup = 20\n"
        '[[matrix]]\ntag = "M1"\nprograms = ["cq", "sps"]\npoints = ["volatile", "so"]\nmedia = ["pcm"]\nthreads = 2\n'
    )
    with ThreadPoolExecutor(2) as executor:
        there = fencepost.reproduce(mine, folder=tmp_path / "there", executor=executor)
    here = fencepost.reproduce(mine, folder=tmp_path / "here")
    assert (there.ran, there.resumed, here.ran) == (0, 4, 4)
    assert runs(tmp_path / "there") == runs(tmp_path / "here")
    assert (tmp_path / "there/report.html").read_bytes() == (tmp_path / "here/report.html").read_bytes()


def experiment(folder: Path) -> Path:
    """An experiment with two inputs that are open, and one claim."""
    mine = folder / "mine"
    mine.mkdir()
    (mine / "experiment.toml").write_text(
        'paper = "mine"\nabout = "x"\nmachine = "dpo"\n[points.volatile]\ndesign = "volatile"\n[points.so]\ndesign = "so"\n'
        "[scale.quick]\nops = 20\nwarmup = 2\n[scale.full]\nops = 200\nwarmup = 20\n"
        '[[matrix]]\ntag = "M1"\nprograms = ["cq", "sps"]\npoints = ["volatile", "so"]\nmedia = ["pcm"]\nthreads = 2\n'
    )
    one = 'about = "x"\nrule = 4\nsilent = "everything"\nconclusion = "the simplest"\ndoubt = "the other"\n'
    (mine / "readings.toml").write_text(
        f'headline = ["M1"]\nsamples = 4\n[[input]]\nname = "window"\n{one}primary = "large"\n'
        'reading = [{ name = "large", reason = "x" }, { name = "small", reason = "x", set = ["core.rob=16"] }]\n'
        f'[[input]]\nname = "log"\n{one}primary = "own"\n'
        'reading = [{ name = "own", reason = "x" }, { name = "list", reason = "x", logs = { sps = "undo-list" } }]\n'
    )
    (mine / "claims.toml").write_text(
        '[[claim]]\nid = "M-1"\nsection = "I"\nclaim = "x"\nconfig = "M1"\nmetric = "x"\nvalue = "3.0"\nunit = "x"\n'
        'kind = "number"\nrests_on = "measured"\n[claim.by]\nrule = "value"\ntag = "M1"\npoint = "so"\nbase = "volatile"\n'
        'media = "pcm"\nover = "geomean"\n'
    )
    return mine


def test_readings_are_an_axis(tmp_path: Path) -> None:
    mine = str(experiment(tmp_path))
    grid = {"experiment": [{"paper": mine, "reading": ["primary", "each", "window=small,log=list"], "seed": [1, 2]}]}
    s = fencepost.sweep(grid, folder=tmp_path / "out")
    rows = list(s.table.rows())
    assert (s.cells, s.failed) == (4 * 4 * 2, 0)
    readings = ["primary", "window=small", "log=list", "window=small,log=list"]
    assert sorted({r["label.reading"] for r in rows}) == sorted(readings)
    time = {(r["label.reading"], r["label.point"], r["program"], r["seed"]): r["time_ps"] for r in rows}
    assert time["primary", "so", "sps", 1] != time["window=small", "so", "sps", 1]
    # Only the log of sps is another one, so the runs of cq are the same runs.
    assert time["primary", "so", "cq", 1] == time["log=list", "so", "cq", 1]
    assert s.shared > 0
    # The primaries are the runs of a reproduction.
    r = fencepost.reproduce(mine, folder=tmp_path / "out")
    assert (r.ran, r.resumed) == (0, 4)


def test_an_inference_on_an_executor(tmp_path: Path) -> None:
    """A search whose steps run on an executor comes to the same end as here."""
    mine = str(experiment(tmp_path))
    with ThreadPoolExecutor(2) as executor:
        there = fencepost.infer(mine, tries=8, splits=1, folder=tmp_path / "there", executor=executor)
    here = fencepost.infer(mine, tries=8, splits=1, folder=tmp_path / "here")
    assert there.ran == 0 and here.ran > 4
    assert runs(tmp_path / "there") == runs(tmp_path / "here")
    assert (there.best, there.rows) == (here.best, here.rows)
    assert (tmp_path / "here/infer.md").exists() and here.rows[0]["id"] == "M-1"

    class Refusing:
        def submit(self, fn: Any, /, *args: Any) -> Future[Any]:
            raise RuntimeError("no more")

    with pytest.raises(fencepost.InternalError, match="takes no cell: RuntimeError: no more"):
        fencepost.infer(mine, tries=8, splits=1, folder=tmp_path / "none", executor=Refusing())


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_papers_and_the_matrix_from_a_shell_on_a_scheduler(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    mine = str(experiment(tmp_path))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
    ) as cluster:

        def says(*args: str) -> Any:
            call = [sys.executable, "-m", "fencepost", *args, "--executor", cluster.scheduler_address]
            said = subprocess.run(call, capture_output=True, text=True, timeout=300)
            assert said.returncode == 0, said.stderr
            return json.loads(said.stdout)

        done = says("reproduce", mine, "-o", str(tmp_path / "reproduced"))
        assert (done["ran"], done["resumed"]) == (0, 4)
        found = says("infer", mine, "--tries", "4", "--splits", "1", "-o", str(tmp_path / "inferred"))
        assert found["ran"] == 0 and found["rows"][0]["id"] == "M-1"
        which = ("--designs", "so,delegated", "--programs", "cq", "--machines", "dpo", "--ops", "4")
        matrix = says("matrix", *which, "-o", str(tmp_path / "matrix"))
        assert (matrix["cells"], matrix["ran"], matrix["failed"]) == (2, 2, 0)
