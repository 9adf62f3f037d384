"""The package and the command say the same, to the bit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import fencepost


def configurations() -> Iterator[dict[str, Any]]:
    """Fifty runs: every design in turn, with programs, machines, seeds and threads that go round."""
    designs = [d for d in fencepost.designs() if not d.startswith("net-")]
    programs = ["cq", "sps", "hash", "tatp", "rbtree", "random", "btree"]
    machines = fencepost.machines()
    for i in range(50):
        yield {
            "program": programs[i % len(programs)],
            "design": designs[i % len(designs)],
            "machine": machines[i % len(machines)],
            "seed": 1 + i // 7,
            "threads": 1 + i % 3,
            "ops": 10,
            "warmup": 2,
            "check": i % 5 == 0,
            "set": {"l1.ways": 8} if i % 4 == 0 else {},
        }


def test_fifty_configurations(command: str) -> None:
    n = 0
    for how in configurations():
        c = dict(how)
        program, sets, check = c.pop("program"), c.pop("set"), c.pop("check")
        args = [command, "run", program, "--json"]
        for name, value in c.items():
            args += [f"--{name}", str(value)]
        for path, value in sets.items():
            args += ["--set", f"{path}={value}"]
        if check:
            args.append("--check")
        said = subprocess.run(args, capture_output=True, text=True)
        if said.returncode == 2:
            # What the command refuses the package refuses, in the same words.
            error = json.loads(said.stdout)["error"]
            try:
                fencepost.run(**how)
            except fencepost.InputError as e:
                assert (e.message, e.hint) == (error["message"], error.get("hint"))
                n += 1
                continue
            raise AssertionError(f"{how}: the command refuses, the package does not")
        command_says = json.loads(said.stdout)
        package_says = fencepost.run(**how).to_dict()
        command_says.pop("host")
        package_says.pop("host")
        assert json.dumps(package_says, sort_keys=True) == json.dumps(command_says, sort_keys=True), how
        n += 1
    assert n == 50


def test_other_commands(command: str) -> None:
    def says(*args: str) -> Any:
        return json.loads(subprocess.run([command, *args, "--json"], capture_output=True, text=True).stdout)

    found = fencepost.crash("cq", "so", ops=2, budget="2000").to_dict()
    assert found == says("crash", "cq", "-d", "so", "--ops", "2", "--budget", "2000")
    costs = [c.to_dict() for c in fencepost.cost("delegated")]
    assert costs == says("cost", "delegated")
    assert fencepost.config("sps", "so", set={"l1.ways": 8}).to_dict() == says(
        "config", "show", "sps", "-d", "so", "--set", "l1.ways=8"
    )
    c = fencepost.compare(["cq", "sps"], "so", ops=10, threads=2, warmup=2).to_dict()
    d = says("compare", "cq", "sps", "-d", "so", "--ops", "10", "--threads", "2", "--warmup", "2")
    assert (c["slowdown"], c["geomean"]) == (d["slowdown"], d["geomean"])
