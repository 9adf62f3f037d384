"""The calls of the package: each is a command, with the same words and the same results."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from ._errors import InputError
from ._progress import Progress, shown
from ._results import Comparison, Config, Crash, Judged, Litmus, Run, StorageCost, Table, build

Setting = str | int | float | bool
Path = str | os.PathLike[str]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def request(
    program: str = "cq",
    design: str = "volatile",
    *,
    machine: str = "dpo",
    media: str | None = None,
    threads: int | None = None,
    ops: int = 1000,
    warmup: int = 100,
    cycles: int | None = None,
    seed: int = 1,
    variant: str | None = None,
    log: str | None = None,
    ack: str = "end",
    set: Mapping[str, Setting] | None = None,
    check: bool = False,
    points: int | None = None,
    nested: int = 2,
) -> dict[str, Any]:
    """A run as ``run`` takes it, as a dictionary that can be sent to another process.

    ``ops`` and ``warmup`` are operations per thread, ``cycles`` cycles of a core. ``set`` maps paths such as ``l1.ways`` or
    ``pm.media.write_pulse`` to values; quantities are texts with their unit, such as ``"300ns"``.
    """
    if ack not in ("every", "end"):
        raise InputError(f"unknown acknowledgement `{ack}`", "every or end")
    return {
        "program": program,
        "design": design,
        "machine": machine,
        "media": media,
        "threads": threads,
        "ops": ops,
        "warmup": warmup,
        "cycles": cycles,
        "seed": seed,
        "variant": variant,
        "log": log,
        "ack_every": ack == "every",
        "sets": [f"{path}={_text(value)}" for path, value in (set or {}).items()],
        "check": check,
        "budget": points,
        "nested": nested,
    }


def run(
    program: str,
    design: str = "volatile",
    *,
    trace: Path | None = None,
    progress: bool | Progress | None = None,
    **how: Any,
) -> Run:
    """Runs one program on one design. Further arguments are those of :func:`request`; times are in picoseconds.

    ``trace`` is a file for everything that happens: ``out.perfetto-trace`` for Perfetto, ``out.kanata`` for Konata.
    """
    with shown(f"{program} on {design}", progress) as told:
        document, tables = _core.run(json.dumps(request(program, design, **how)), trace, told)
    return build(Run, json.loads(document), tables={name: Table(t) for name, t in tables})


def compare(
    programs: str | Sequence[str],
    designs: str | Sequence[str],
    *,
    baseline: str = "volatile",
    jobs: int | None = None,
    folder: Path | None = None,
    progress: bool | Progress | None = None,
    **how: Any,
) -> Comparison:
    """Runs programs on several designs and compares their times. With ``folder``, finished runs are kept and not repeated."""
    programs = [programs] if isinstance(programs, str) else list(programs)
    designs = [designs] if isinstance(designs, str) else list(designs)
    base = json.dumps(request(**how))
    with shown("compare", progress) as told:
        document, table = _core.compare(base, programs, designs, baseline, jobs or _cores(), folder, told)
    return build(Comparison, json.loads(document), table=Table(table))


def crash(
    program: str,
    design: str | None = None,
    *,
    contract: str | None = None,
    ops: int = 8,
    threads: int = 1,
    budget: str = "60s",
    schedules: int | None = None,
    paranoid: int | None = None,
    line_order: str | None = None,
    grain: int = 8,
    full_size: bool = False,
    **how: Any,
) -> Crash:
    """Explores the crash states of a program: those of a simulated run on ``design``, or those that ``contract`` allows.

    ``budget`` is a number of recoveries or a time such as ``500ms``; ``grain`` is the bytes that become durable at once;
    small structures are explored unless ``full_size`` asks for those of runs.
    """
    if (design is None) == (contract is None):
        raise InputError("crash needs to know which crash states are possible", "name a design or a contract")
    asked = {
        "request": request(program, design or "volatile", ops=ops, warmup=0, threads=threads, **how),
        "contract": contract,
        "budget": budget,
        "schedules": schedules,
        "paranoid": paranoid,
        "line_order": line_order,
        "grain": grain,
        "full_size": full_size,
    }
    return build(Crash, json.loads(_core.crash(json.dumps(asked))))


def judge(log: Path, contract: str, *, complete: bool = False, line_order: str | None = None) -> Judged:
    """Judges a recorded persist log, of another simulator or a real machine, against a contract."""
    return build(Judged, json.loads(_core.judge(log, contract, complete, line_order)))


def litmus(
    tests: str | os.PathLike[str] | Sequence[Path],
    models: str | Sequence[str] = (),
    *,
    states: bool = False,
) -> tuple[Litmus, ...]:
    """Judges litmus tests by consistency models and crash contracts; an answer for each test and model.

    ``tests`` is the text of a test, or files, folders and lists (``@FILE``) of tests, as the command takes them. Without ``models`` a test
    is judged by what its headers name, else by the model of its instruction set. ``states`` lists all states. A test that cannot be
    read, or asks for what is not modelled, is answered with the reason in ``skipped``, and the others go on.
    """
    text = tests if isinstance(tests, str) and "\n" in tests else None
    files = [tests] if isinstance(tests, (str, os.PathLike)) else list(tests)
    asked = {
        "files": [] if text else [os.fspath(f) for f in files],
        "text": text,
        "models": [models] if isinstance(models, str) else list(models),
        "states": states,
    }
    return tuple(build(Litmus, d) for d in json.loads(_core.litmus(json.dumps(asked))))


def cost(
    design: str | None = None, *, machine: str = "dpo", set: Mapping[str, Setting] | None = None
) -> tuple[StorageCost, ...]:
    """Storage that a design adds, or every design, in bits."""
    sets = [f"{path}={_text(value)}" for path, value in (set or {}).items()]
    return tuple(build(StorageCost, d) for d in json.loads(_core.cost(design, machine, sets)))


def config(program: str = "cq", design: str = "volatile", **how: Any) -> Config:
    """The resolved configuration of a run: every value with where it came from."""
    return build(Config, json.loads(_core.config(json.dumps(request(program, design, **how)))))


def _names(kind: str) -> tuple[str, ...]:
    return tuple(e["word"] for e in json.loads(_core.names(kind)))


def designs() -> tuple[str, ...]:
    """Names of the designs."""
    return _names("designs")


def programs() -> tuple[str, ...]:
    """Names of the programs."""
    return _names("programs")


def machines() -> tuple[str, ...]:
    """Names of the machine presets."""
    return _names("machines")


def media() -> tuple[str, ...]:
    """Names of the media presets."""
    return _names("media")


def contracts() -> tuple[str, ...]:
    """Names of the contracts."""
    return _names("contracts")


__all__ = [
    "compare",
    "config",
    "contracts",
    "cost",
    "crash",
    "designs",
    "judge",
    "litmus",
    "machines",
    "media",
    "programs",
    "request",
    "run",
]
