"""Litmus tests from Python, as the command judges them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import fencepost

ROOT = Path(__file__).resolve().parents[3]
SB = r"""X86 SB
{ x=0; y=0; }
 P0          | P1          ;
 MOV [x],$1  | MOV [y],$1  ;
 MOV EAX,[y] | MOV EAX,[x] ;
exists (0:EAX=0 /\ 1:EAX=0)
"""


def test_a_test_by_its_text() -> None:
    tso, sc = fencepost.litmus(SB, ["tso", "sc"], states=True)
    assert (tso.name, tso.model, tso.observation, tso.verdict, tso.states) == ("SB", "tso", "Sometimes", "Ok", 4)
    assert (sc.observation, sc.verdict, sc.states) == ("Never", "No", 3)
    assert sc.final_states is not None and "0:EAX=0; 1:EAX=0;" not in sc.final_states
    (own,) = fencepost.litmus(SB)
    assert own.model == "tso" and own.final_states is None


def test_crash_states() -> None:
    (p,) = fencepost.litmus(ROOT / "litmus/persistency/P19.litmus", "px86", states=True)
    assert p.crash is not None and p.crash["states"] == len(p.crash["crash_states"]) == 5


def test_folders_and_what_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "a.litmus").write_text(SB)
    (tmp_path / "b.litmus").write_text(SB.replace("MOV [x]", "VFROB [x]"))
    a, b = fencepost.litmus([tmp_path])
    assert a.skipped is None and b.observation is None and "VFROB" in (b.skipped or "")
    with pytest.raises(fencepost.InputError, match="unknown model `tsoo`") as e:
        fencepost.litmus(SB, "tsoo")
    assert "`tso`" in (e.value.hint or "")
    with pytest.raises(fencepost.FileError):
        fencepost.litmus(tmp_path / "none.litmus")


def test_as_the_command(command: str) -> None:
    folder = str(ROOT / "litmus/persistency")
    said = subprocess.run([command, "litmus", folder, "--states", "--json"], capture_output=True, text=True)
    assert [r.to_dict() for r in fencepost.litmus(folder, states=True)] == json.loads(said.stdout)
