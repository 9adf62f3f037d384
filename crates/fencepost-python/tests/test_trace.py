"""Traces of runs, decoded with the classes of the tools that they are for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import fencepost

RUN = {"ops": 6, "warmup": 0, "threads": 2}


def test_a_perfetto_trace_in_duckdb(tmp_path: Path) -> None:
    perfetto: Any = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "run.perfetto-trace"
    r = fencepost.run("sps", "delegated", trace=path, check=True, **RUN)
    trace = perfetto.Trace()
    trace.ParseFromString(path.read_bytes())
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    event = perfetto.TrackEvent
    slices, begun, flows = [], {}, []
    for p in trace.packet:
        assert not p.ListFields() or p.trusted_packet_sequence_id == 1
        if not p.HasField("track_event"):
            continue
        e = p.track_event
        assert e.track_uuid in tracks
        flows += [{"flow": f, "ends": False} for f in e.flow_ids] + [{"flow": f, "ends": True} for f in e.terminating_flow_ids]
        if e.type == event.TYPE_SLICE_BEGIN:
            begun.setdefault(e.track_uuid, []).append((p.timestamp, e.name, list(e.categories)))
        elif e.type == event.TYPE_SLICE_END:
            since, name, categories = begun[e.track_uuid].pop()
            track = tracks[e.track_uuid]
            slices.append({"track": track.name or track.thread.thread_name, "name": name, "kind": categories[0],
                           "begin_ps": since, "time_ps": p.timestamp - since})
    assert not any(begun.values()), "a slice that does not end"
    slices, flows = pa.Table.from_pylist(slices), pa.Table.from_pylist(flows)
    # The trace's stalls are the run's stall account.
    stalls = dict(duckdb.sql("select name, sum(time_ps)::bigint from slices where kind = 'stall' group by name having sum(time_ps) > 0").fetchall())
    assert stalls == {cause: ps for cause, ps in r.stalls.items() if ps}
    # Every line that became durable is a slice of a bank, of the time it waited in the controller.
    assert duckdb.sql("select count(*) from slices where kind = 'write' and track like 'bank %'").fetchall() == [(r.durable_events,)]
    log = r.tables["persist_log"]
    ends = duckdb.sql("select begin_ps + time_ps as t from slices where kind = 'write' order by t").fetchall()
    assert ends == duckdb.sql("select time_ps from log order by time_ps").fetchall()
    loose = duckdb.sql("select flow from flows group by flow having bool_or(ends) <> bool_or(not ends)").fetchall()
    assert flows.num_rows > 0 and loose == []
    names = {t.process.process_name.split(":")[0] for t in tracks.values() if t.HasField("process")}
    assert names == {"cores", "persist buffers", "persistent memory"}
    assert sum(t.HasField("counter") for t in tracks.values()) == 3
    shell = shutil.which("trace_processor_shell")
    if shell is None:
        return
    processor: Any = pytest.importorskip("perfetto.trace_processor")
    config = processor.TraceProcessorConfig(bin_path=shell)
    with processor.TraceProcessor(trace=str(path), config=config) as tp:
        rows = tp.query("select name, sum(dur) as t from slice where category = 'stall' group by name having t > 0")
        assert {row.name: row.t for row in rows} == stalls


def test_a_konata_log(tmp_path: Path) -> None:
    path = tmp_path / "run.kanata"
    r = fencepost.run("cq", "so", trace=path, **RUN)
    lines = path.read_text().splitlines()
    assert lines[0] == "Kanata\t0004"
    cells = [line.split("\t") for line in lines]
    assert sum(c[0] == "I" for c in cells) == sum(c[0] == "R" for c in cells) > 0
    assert {c[3] for c in cells if c[0] == "S"} <= {"D", "I", "C", "Q", "P", "M", "W"}
    assert any(c[0] == "L" and c[3] in r.stalls for c in cells)


def test_traces_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(fencepost.InputError, match="unknown ending of a trace `json`"):
        fencepost.run("cq", trace=tmp_path / "run.json", **RUN)
    with pytest.raises(fencepost.FileError, match="nowhere"):
        fencepost.run("cq", trace=tmp_path / "nowhere" / "run.kanata", **RUN)
    with pytest.raises(fencepost.InputError, match="rows"):
        fencepost.run("sps", "so", trace=tmp_path / "run.kanata", ops=20_000, threads=8, warmup=0)
    assert list(tmp_path.iterdir()) == []
