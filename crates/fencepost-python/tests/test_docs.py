"""What the documentation shows is what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

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
