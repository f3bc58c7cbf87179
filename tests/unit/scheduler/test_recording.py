"""Files that histories are kept in."""

from __future__ import annotations

import gzip
from pathlib import Path

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.scheduler import assembly, history, lines
from grove.scheduler.lines import Decided, Line, Start
from grove.scheduler.outcomes import BindFailure
from grove.scheduler.recording import Journal, Recording
from tests.unit.scheduler.fleets import node, pod, spec

SETTINGS = SchedulerConfiguration()
AT = 1_900_000_000.0


def recording(path: Path, *, limit: int = 1 << 20) -> Recording:
    return Recording(assembly.engine(SETTINGS), SETTINGS, Journal(path, limit=limit), at=AT)


def kept(path: Path) -> list[Line]:
    return [lines.decode(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def differences(path: Path) -> list[history.Step]:
    return [one for one in history.replay(assembly.engine(SETTINGS), kept(path)) if one.differs]


def test_what_was_recorded_can_be_lived_through_again(tmp_path: Path) -> None:
    file = tmp_path / "history.gz"
    found = recording(file)
    found.node(node("n0"))
    found.pod(pod("p", spec(gpus=8)))
    (bind,) = found.decide(AT + 1, limit=64)
    found.bind_failed("uid-default-p", BindFailure("Refused", "by a webhook"))
    found.decide(AT + 2, limit=64)
    found.bound("uid-default-p")
    found.evicted("uid-default-x")
    found.evict_failed("uid-default-x", "forbidden")
    found.rejected(pod("p", spec(gpus=8)))
    found.pod_gone(pod("p", spec(gpus=8)))
    found.resume("default/none", [("uid", "n0")])
    found.node_gone("n0")
    found.decide(AT + 3, limit=64)
    found.close()
    assert bind.gang.key == "default/pod:p"
    assert [len(one.choices) for one in kept(file) if isinstance(one, Decided)] == [1, 1, 0]
    assert differences(file) == []


def test_a_file_that_is_full_is_followed_by_one_that_begins_with_a_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "history.gz"
    found = recording(file, limit=8000)
    found.node(node("n0"))
    for number in range(400):
        found.pod(pod(f"p{number}", spec(gpus=1)))
        found.decide(AT + number, limit=64)
        found.pod_gone(pod(f"p{number}", spec(gpus=1)))
    found.close()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["history.gz", "history.gz.1"]
    assert sum(one.stat().st_size for one in tmp_path.iterdir()) < 3 * 8000
    for one in tmp_path.iterdir():
        first = kept(one)[0]
        assert isinstance(first, Start)
        assert first.is_snapshot
        assert differences(one) == []


def test_what_was_decided_can_be_read_while_it_is_recorded(tmp_path: Path) -> None:
    file = tmp_path / "history.gz"
    found = recording(file)
    found.node(node("n0"))
    found.pod(pod("p", spec(gpus=8)))
    found.decide(AT, limit=64)
    with gzip.open(file) as text:
        head = text.read1(1 << 20)
    assert b'"line":"decided"' in head
    found.close()


def test_a_file_that_cannot_be_written_ends_recording_and_nothing_else(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "none" / "history.gz", limit=1 << 20)
    found = Recording(assembly.engine(SETTINGS), SETTINGS, journal, at=AT)
    assert journal.failed
    found.node(node("n0"))
    found.pod(pod("p", spec(gpus=8)))
    assert len(found.decide(AT, limit=64)) == 1
    found.close()
