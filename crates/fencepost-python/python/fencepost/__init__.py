"""What does it cost to keep persistent memory crash-consistent on a given piece of hardware, and is it really?

Every call is a command of ``fencepost``, with the same names and the same results to the bit. Times are simulated picoseconds,
storage is in bits, memory traffic in lines of 64 bytes.
"""

from __future__ import annotations

from . import _core
from ._calls import (
    compare,
    config,
    contracts,
    cost,
    crash,
    designs,
    judge,
    litmus,
    machines,
    media,
    programs,
    request,
    run,
)
from ._errors import Convicted, FencepostError, FileError, InputError, InternalError
from ._reproduce import infer, reproduce
from ._results import (
    Comparison,
    Config,
    Crash,
    Inference,
    Judged,
    Litmus,
    Reproduction,
    Run,
    StorageCost,
    Sweep,
    Table,
)
from ._sweep import matrix, run_of, sweep

#: Version, with a digest of the sources that decide results.
__version__: str = _core.version()

__all__ = [
    "Comparison",
    "Config",
    "Convicted",
    "Crash",
    "FencepostError",
    "FileError",
    "Inference",
    "InputError",
    "InternalError",
    "Judged",
    "Litmus",
    "Reproduction",
    "Run",
    "StorageCost",
    "Sweep",
    "Table",
    "__version__",
    "compare",
    "config",
    "contracts",
    "cost",
    "crash",
    "designs",
    "infer",
    "judge",
    "litmus",
    "machines",
    "matrix",
    "media",
    "programs",
    "reproduce",
    "request",
    "run",
    "run_of",
    "sweep",
]
