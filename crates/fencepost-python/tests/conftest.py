"""What several tests need."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def command() -> str:
    """The command to compare with: of FENCEPOST_BIN, or the newest one that cargo built."""
    built = os.environ.get("FENCEPOST_BIN")
    if built:
        return built
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    found = [p for profile in ("quick", "release", "debug") if (p := target / profile / "fencepost").exists()]
    if not found:
        pytest.skip("no command was built")
    import fencepost

    for path in map(str, found):
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        if fencepost.__version__ in said:
            return path
    if shutil.which("cargo"):
        pytest.skip("the command that was built is of other sources than the package")
    pytest.skip("no command of this version")
