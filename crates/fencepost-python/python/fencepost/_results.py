"""Results: frozen objects with ``to_dict()``, and tables over the Arrow PyCapsule interface."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from . import _core

T = TypeVar("T", bound="Result")


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({k: _frozen(v) for k, v in value.items()})
    if isinstance(value, list):
        return tuple(_frozen(v) for v in value)
    return value


class Table:
    """A table of results with units.

    pandas (``pandas.DataFrame.from_arrow``), polars (``polars.DataFrame``), pyarrow (``pyarrow.table``) and DuckDB read it
    without a copy over the Arrow PyCapsule interface.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Table) -> None:
        self._core = core

    @property
    def schema(self) -> str:
        """Name of the schema, such as ``fencepost-runs``."""
        return self._core.schema

    @property
    def version(self) -> int:
        """Version of the schema."""
        return self._core.version

    @property
    def units(self) -> Mapping[str, str]:
        """Unit of each column that has one."""
        return MappingProxyType({name: unit for name, unit, _ in self._core.fields if unit})

    @property
    def about(self) -> Mapping[str, str]:
        """What each column is."""
        return MappingProxyType({name: about for name, _, about in self._core.fields})

    def __len__(self) -> int:
        return len(self._core)

    def to_bytes(self, format: str) -> bytes:
        """The table as a file: ``parquet``, ``arrow``, ``csv`` or ``json``. Equal tables are equal bytes."""
        return self._core.to_bytes(format)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries; what a row has no value for is left out."""
        yield from json.loads(self._core.to_bytes("json"))["rows"]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._core.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{self.schema} {self.version}: {len(self)} rows, {len(self._core.fields)} columns>"


@dataclass(frozen=True)
class Result:
    """A result. All of it is in ``to_dict()``, as the command prints it with ``--json``."""

    _document: Mapping[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The result as a dictionary, as the command prints it with ``--json``."""
        return deepcopy(self._document)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Run(Result):
    """One finished run. Times are simulated picoseconds of the measured interval, after warm-up."""

    program: str
    design: str
    machine: str
    media: str
    threads: int
    ops: int
    """Measured operations of all threads."""
    seed: int
    config_digest: str
    """Digest of the resolved configuration."""
    time_ps: int
    """From the end of warm-up to the last thread's finish, in picoseconds."""
    instructions: int
    ipc: float
    """Instructions per cycle and core."""
    ops_per_s: float
    """Operations per simulated second, all threads."""
    busy_ps: int
    """Time in which threads committed, summed over threads, in picoseconds."""
    stalls: Mapping[str, int]
    """Time in which threads could not commit, by cause, summed over threads, in picoseconds."""
    pm_reads: int
    """Lines read from persistent memory."""
    pm_writes: int
    """Lines written to persistent memory."""
    durable_events: int
    log_digest: str
    """Digest of the persist log."""
    counters: Mapping[str, int] = field(repr=False)
    check: Mapping[str, Any] | None = field(repr=False)
    """The crash check, when asked for."""
    tables: Mapping[str, Table] = field(repr=False)
    """``run``, ``stalls``, ``counters``, ``histograms``, and ``persist_log`` of a checked run."""

    @property
    def violated(self) -> bool:
        """Whether the check found anything that must not happen."""
        c = self.check
        return c is not None and (c["violations"] > 0 or c.get("conforms") is False)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.tables["run"].__arrow_c_stream__(requested_schema)


@dataclass(frozen=True)
class Comparison(Result):
    """Runs and their slowdowns over a baseline."""

    baseline: str
    slowdown: Mapping[str, Mapping[str, float]]
    """Execution time over the baseline's, by program and design."""
    geomean: Mapping[str, float]
    """Geometric mean over programs, by design."""
    runs: tuple[Mapping[str, Any], ...] = field(repr=False)
    table: Table = field(repr=False)
    """Every run."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@dataclass(frozen=True)
class Crash(Result):
    """What exploring the crash states of a program found."""

    program: str
    contract: str
    verdict: str
    """``clean``, ``violated``, ``bounded`` or ``nothing explored``."""
    complete: bool
    """Whether every state that the contract allows was covered."""
    states_covered: int
    states_total: int | None
    recoveries: int
    witness: Mapping[str, Any] | None
    """A crash state that recovery does not survive."""


@dataclass(frozen=True)
class Judged(Result):
    """The verdict on a recorded persist log."""

    file: str
    contract: str
    verdict: str
    stores: int
    durable_events: int
    reordered: int


@dataclass(frozen=True)
class Litmus(Result):
    """What a model or a contract says of a litmus test, or why it was not run."""

    file: str
    name: str | None
    model: str | None
    """The consistency model or crash contract."""
    observation: str | None
    """``Never``, ``Sometimes`` or ``Always``: executions in which the final condition holds."""
    verdict: str | None
    """``Ok`` or ``No``: whether that is what the quantifier wants."""
    states: int | None
    """Number of final states."""
    final_states: tuple[str, ...] | None
    """The final states, if they were asked for."""
    crash: Mapping[str, Any] | None
    """Crash states under a contract: ``condition``, ``observation``, ``states``, and ``crash_states`` if asked for."""
    expected: str | None
    """What the test's header expects of this model."""
    skipped: str | None
    """Why the test was not run."""


@dataclass(frozen=True)
class StorageCost(Result):
    """Storage that a design adds to a machine."""

    design: str
    machine: str
    items: tuple[Mapping[str, Any], ...]

    @property
    def bits(self) -> int:
        """All of its structures together, in bits."""
        return sum(i["bits"] for i in self.items)


@dataclass(frozen=True)
class Reproduction(Result):
    """A reproduced paper, or experiment of your own."""

    paper: str
    scale: str
    seed: int
    folder: str
    ran: int
    resumed: int
    rows: tuple[Mapping[str, Any], ...] = field(repr=False)
    """The scoreboard."""
    unexpected: tuple[str, ...]
    """Violations that must not be, and convictions that had to be and are missing."""


@dataclass(frozen=True)
class Inference(Result):
    """What a paper's published figures say of what it leaves open. Never a reproduction."""

    paper: str
    seed: int
    tried: int
    """Joint readings that were tried at whole length."""
    ran: int
    """Runs of this process; others were finished before, or by an executor."""
    by_text: Mapping[str, Any]
    """The primaries: ``readings`` and the measured rows that they ``met``."""
    best: Mapping[str, Any]
    """The joint reading that meets most."""
    rows: tuple[Mapping[str, Any], ...] = field(repr=False)
    """The claims: by the text, under the best joint reading, and over everything tried."""
    unreached: tuple[str, ...]
    """Claims that nothing of what was tried meets."""
    folder: str


@dataclass(frozen=True)
class Config(Result):
    """A resolved configuration: every value with where it came from."""

    config_digest: str
    sections: tuple[Mapping[str, Any], ...] = field(repr=False)

    def __getitem__(self, path: str) -> str:
        """The value at ``section.key``, as a configuration file would write it."""
        section, _, key = path.rpartition(".")
        for s in self.sections:
            for v in s["values"]:
                if s["name"] == section and v["key"] == key:
                    return str(v["value"])
        raise KeyError(path)


@dataclass(frozen=True)
class Sweep(Result):
    """A sweep that came to its end: how many cells came to which end, and the table of all of them."""

    cells: int
    ran: int
    """Runs of this call."""
    resumed: int
    """Runs that were finished already."""
    shared: int
    """Cells that are the same run as another one."""
    failed: int
    """Cells that failed; the table's column ``error`` says why."""
    violated: int
    """Runs whose check found what must not happen."""
    folder: str
    table: Table = field(repr=False)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def build(kind: type[T], document: dict[str, Any], **more: Any) -> T:
    """A result of this kind out of the command's document."""
    names = kind.__dataclass_fields__.keys() - more.keys() - {"_document"}
    return kind(_document=document, **{n: _frozen(document.get(n)) for n in names}, **more)
