"""`grove replay` of snapshots and histories."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from grove.scheduler import lines
from grove.scheduler.debugpages import pack
from grove.scheduler.lines import Line
from grove.scheduler.recording import Journal, Recording
from grove.scheduler.snapshot import snapshot
from tests.unit.cli.clusters import NOW, SETTINGS, engine, gang
from tests.unit.cli.conftest import Run

AT = NOW.timestamp()


def recorded(path: Path, *, until: float = 1.0) -> None:
    """A history of a gang that is placed and one that waits."""
    recording = Recording(engine(), SETTINGS, Journal(path, limit=1 << 20), at=AT)
    source = engine()
    gang(source, "fits", {"f-0": "", "f-1": ""})
    gang(source, "waits", {f"w-{number}": "" for number in range(3)})
    for kind, view in source.objects():
        if kind in ("node", "topology", "priority_class", "pod", "gang"):
            getattr(recording, kind)(view)
    recording.decide(AT + until, limit=100)
    recording.close()


def test_a_snapshot_ends_with_what_would_be_decided(run: Run, tmp_path: Path) -> None:
    found = engine()
    gang(found, "fits", {"f-0": "", "f-1": ""})
    file = tmp_path / "snapshot.gz"
    file.write_bytes(pack(snapshot(found, SETTINGS, AT)))
    result = run("replay", str(file))
    assert result.exit_code == 0
    header, row = result.stdout.splitlines()
    assert header.split() == ["TIME", "GANG", "WHAT", "WHERE", "WHY"]
    assert row.split("   ") == ["2026-11-20T10:00:00.000Z", "default/fits", "bind", "n0 ×1, n1 ×1", "score 1.00"]


def test_a_history_is_as_recorded(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "history.gz"
    recorded(file)
    result = run("replay", str(file), "--compare")
    assert (result.exit_code, result.stdout) == (0, "all decisions are as recorded\n")


def test_decisions_that_differ_end_with_1(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "history.gz"
    recorded(file)
    text = gzip.decompress(file.read_bytes()).replace(b'"n1"]', b'"n3"]')
    changed = tmp_path / "changed"
    changed.write_bytes(text)
    result = run("replay", str(changed), "--compare")
    assert result.exit_code == 1
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["SIDE", "recorded", "now"]


def test_one_gang_can_be_picked_out(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "history.gz"
    recorded(file)
    rows = json.loads(run("replay", str(file), "--gang", "default/waits", "-o", "json").stdout)
    assert [(row["what"], row["reason"]) for row in rows] == [("refuse", "Unschedulable")]


def test_it_stops_at_a_time(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "history.gz"
    recorded(file, until=60.0)
    assert run("replay", str(file), "--until", "2026-11-20T10:00:30Z").stdout == "nothing is decided\n"
    assert run("replay", str(file), "--until", str(AT + 61)).stdout.count("default/") == 2
    assert run("replay", str(file), "--until", "soon").exit_code == 2


def test_a_history_that_was_cut_off_is_read_as_far_as_it_goes(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "history.gz"
    recorded(file)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(file.read_bytes()[:-20])
    assert run("replay", str(cut)).exit_code == 0


def test_what_is_no_history_is_an_error(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("hello\n")
    result = run("replay", str(file))
    assert result.exit_code == 2
    assert "help: name what /snapshot or debugging.recordHistory has written" in result.stderr
    assert run("replay", str(tmp_path / "none")).exit_code == 2
    newer: Line = lines.Start(version=99, at=0.0, configuration={})
    file.write_bytes(lines.encode(newer) + b"\n")
    assert "it is of version 99" in run("replay", str(file)).stderr
