"""What the documentation shows is what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

import fencepost

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def test_the_readme_shows_its_output() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\s+```text\n(.*?)```", text, re.S)
    assert found is not None
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(found[1], {})
    assert said.getvalue() == found[2]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("matplotlib")
    pytest.importorskip("polars")
    pytest.importorskip("ipykernel")
    notebook: Any = nbformat.read(path, as_version=4)
    # A cell that raises fails the test; every cell ends within two minutes.
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    assert any("image/png" in o.get("data", {}) or "text/plain" in o.get("data", {}) for o in outputs)
    assert all(not cell.get("outputs") for cell in nbformat.read(path, as_version=4).cells), "kept without outputs"


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(rf"```{language}\n(.*?)```", text, re.S)
    assert found, f"{page} shows no {language}"
    return found


def test_python_md_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("duckdb", "polars", "pyarrow", "perfetto"):
        pytest.importorskip(module)
    (tmp_path / "litmus").symlink_to(ROOT / "litmus")
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    ran = 0
    for block in blocks("python.md", "python"):
        # What needs a cluster is tested with one of this host, in test_sweep.py.
        if "distributed" not in block and "dask" not in block:
            exec(block, space)
            ran += 1
    assert ran == 5
    assert space["c"].slowdown["sps"]["delegated"] > 1
    assert [v.observation for v in space["sb"]] == ["Sometimes", "Never"]
    assert len(space["s"].table) == 8


def test_examples_on_tables_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    # The grid that the page on sweeps begins with, and a corner of the matrix.
    grid = blocks("sweeps.md", "toml")[0].replace("ops = 500", "ops = 20").replace("warmup = 50", "warmup = 2")
    Path("grid.toml").write_text(grid)
    swept = fencepost.sweep("grid.toml")
    assert (swept.cells, swept.failed) == (25, 0)
    matrix = fencepost.matrix(["so", "delegated"], ["cq", "sps"], ["dpo"], ops=8)
    assert (matrix.cells, matrix.failed) == (4, 0)
    (query,) = blocks("results.md", "sql")
    rows = duckdb.sql(query).fetchall()
    assert {(r[0], r[1]) for r in rows} == {(p, d) for p in ("cq", "sps", "hash") for d in ("so", "delegated")}
    assert all(0 <= r[3] for r in rows)
    (query,) = blocks("sweeps.md", "sql")
    fastest = duckdb.sql(query).fetchall()
    times = {(r["program"], r["design"]): r["time_ps"] for r in matrix.table.rows()}
    for machine, program, design, us in fastest:
        assert machine == "dpo" and us * 1e6 == min(times[program, d] for d in ("so", "delegated"))
        assert times[program, design] == us * 1e6
    assert len(fastest) == 2
    (block,) = blocks("results.md", "python")
    name = next(Path("runs/grid/sweeps").glob("*.parquet")).name
    space: dict[str, Any] = {}
    exec(block.replace("grid-0123456789ab.parquet", name), space)
    assert len(space["df"]) == 25 and space["units"]["time_ps"] == "ps" and space["units"]["pm_writes"] == "lines"
