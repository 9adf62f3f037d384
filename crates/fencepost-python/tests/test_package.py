"""The package by itself: results, tables, errors, interruption, progress, types."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import fencepost

SMALL = {"ops": 10, "warmup": 2, "threads": 2}


def test_results_are_frozen_and_complete() -> None:
    r = fencepost.run("cq", "so", check=True, **SMALL)
    assert r.ops == 20 and not r.violated
    with pytest.raises(dataclasses.FrozenInstanceError):
        r.time_ps = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        r.stalls["busy"] = 1  # type: ignore[index]
    d = r.to_dict()
    d["stalls"].clear()
    assert r.stalls and r.to_dict()["stalls"]
    # Busy time and stalls are all there is.
    stalls = {row["cause"]: row["time_ps"] for row in r.tables["stalls"].rows()}
    assert stalls == {"busy": r.busy_ps, **r.stalls}
    log = list(r.tables["persist_log"].rows())
    assert len(log) == r.durable_events
    assert [row["time_ps"] for row in log] == sorted(row["time_ps"] for row in log)
    assert all(len(row["bytes"]) == 128 for row in log)


def test_a_planted_mistake_is_convicted() -> None:
    ideal = fencepost.run("sps", "x86-ideal", machine="themis", check=True, ops=60, warmup=2, threads=2,
                          set={"design.x86-ideal.drain_delay": "2us"})
    assert ideal.violated
    found = fencepost.crash("cq", contract="none", ops=2)
    assert found.verdict == "violated" and found.witness is not None


def test_tables_are_read_without_a_copy() -> None:
    pa = pytest.importorskip("pyarrow")
    r = fencepost.run("cq", "so", **SMALL)
    table = pa.table(r)
    assert table.column("time_ps").to_pylist() == [r.time_ps]
    assert table.schema.field("time_ps").metadata[b"unit"] == b"ps"
    assert table.schema.metadata[b"fencepost.schema"] == b"fencepost-runs"
    assert r.tables["run"].units["pm_writes"] == "lines"
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(r)["time_ps"].to_list() == [r.time_ps]
    pandas = pytest.importorskip("pandas")
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert pandas.DataFrame.from_arrow(r.tables["run"])["time_ps"].tolist() == [r.time_ps]
    duckdb = pytest.importorskip("duckdb")
    stalls = r.tables["stalls"]
    assert duckdb.sql("select sum(time_ps) from stalls").fetchall() == [(r.busy_ps + sum(r.stalls.values()),)]
    assert len(stalls) == 1 + len(r.stalls)


def test_errors_have_text_hint_and_place() -> None:
    with pytest.raises(fencepost.InputError) as e:
        fencepost.run("spss")
    assert "unknown program `spss`" in str(e.value) and "`sps`" in (e.value.hint or "")
    assert e.value.exit_code == 2 and isinstance(e.value, ValueError)
    with pytest.raises(fencepost.InputError) as e:
        fencepost.run("cq", set={"pm.media.write_pulse": "300parsecs"})
    assert e.value.place is not None and e.value.place.startswith("--set")
    with pytest.raises(fencepost.InputError, match="unknown acknowledgement"):
        fencepost.run("cq", ack="never")
    with pytest.raises(fencepost.FileError, match="no such file"):
        fencepost.judge("/nosuch.log", "px86")
    with pytest.raises(fencepost.InputError, match="design or a contract"):
        fencepost.crash("cq")
    with pytest.raises(fencepost.InputError, match="unknown experiment"):
        fencepost.reproduce("nosuch", folder="/tmp/fencepost-nosuch")


def test_the_lock_is_released() -> None:
    """While a run is under way other threads of Python go on."""
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    before = counted[0]
    fencepost.run("sps", "delegated", ops=3000, threads=4)
    after = counted[0]
    done.set()
    other.join()
    assert after > before + 3


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    "call",
    [
        "fencepost.run('sps', 'delegated', ops=100_000_000)",
        "fencepost.crash('btree', contract='px86', ops=200, full_size=True, budget='600s')",
        "fencepost.compare(['sps', 'cq'], ['so', 'delegated'], ops=50_000_000, jobs=2)",
        "fencepost.sweep({'product': [{'program': ['sps', 'cq'], 'ops': [50_000_000]}]}, folder=folder, jobs=2)",
    ],
)
def test_an_interrupt_ends_the_call(call: str, tmp_path: Path) -> None:
    # The only bound on time is that of an interrupt, which the package promises.
    text = f"""
import fencepost, time, sys
folder = {str(tmp_path / "out")!r}
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    time.sleep(2)
    assert child.poll() is None, "it ended by itself"
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert said.startswith("interrupted"), said


def test_progress_is_told_and_its_exception_ends_the_call() -> None:
    told: list[tuple[int, int]] = []
    fencepost.compare(["cq", "sps"], ["so"], progress=lambda done, total: told.append((done, total)), **SMALL)
    assert told[-1] == (4, 4)
    assert [t[0] for t in told] == sorted(t[0] for t in told)

    def refuse(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fencepost.compare(["cq", "sps"], ["so"], progress=refuse, **SMALL)


def test_names() -> None:
    assert "delegated" in fencepost.designs() and "sps" in fencepost.programs()
    assert "dpo" in fencepost.machines() and "pcm" in fencepost.media() and "px86" in fencepost.contracts()
    assert fencepost.config("sps", "delegated", set={"l1.ways": 8})["l1.ways"] == "8"


def test_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    package = Path(fencepost.__file__).parent
    use = tmp_path / "use.py"
    use.write_text(
        "import fencepost\n"
        "r = fencepost.run('cq', 'so')\n"
        "t: int = r.time_ps\n"
        "s = fencepost.sweep({'base': {}}, folder='x')\n"
        "n: int = s.failed\n"
    )
    check = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    said = subprocess.run([*check, str(use)], capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 0, said.stdout
    use.write_text("import fencepost\nt: str = fencepost.run('cq').time_ps\n")
    said = subprocess.run([*check, str(use)], capture_output=True, text=True, cwd=tmp_path)
    assert "Incompatible types" in said.stdout
    assert (package / "py.typed").exists()
    stubs = [sys.executable, "-m", "mypy.stubtest", "fencepost._core", "--ignore-disjoint-bases"]
    said = subprocess.run(stubs, capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 0, said.stdout
