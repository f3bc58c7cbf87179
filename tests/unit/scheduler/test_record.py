"""Decisions as they are written down and read again."""

from __future__ import annotations

import datetime
import random

import msgspec
import pytest

from grove.kube.objects import PodView
from grove.scheduler import record
from grove.scheduler.record import Record, Target

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
UNTIL = NOW + datetime.timedelta(seconds=60)


def targets(count: int, *, uid: str = "uid") -> list[Target]:
    return [Target("default", f"pod-{index}", f"{uid}-{index}", f"node-{index}") for index in range(count)]


def made(count: int = 3) -> Record:
    return record.make(targets(count), term=7, now=NOW, until=UNTIL, score=0.9, domains=["rack=r1"])


def pods(count: int = 3, *, uid: str = "uid", bound: int = 0, node: str = "") -> dict[tuple[str, str], PodView]:
    return {
        ("default", f"pod-{index}"): msgspec.convert(
            {
                "metadata": {"name": f"pod-{index}", "namespace": "default", "uid": f"{uid}-{index}"},
                "spec": {"nodeName": (node or f"node-{index}") if index < bound else ""},
            },
            PodView,
        )
        for index in range(count)
    }


def left(found: Record, there: dict[tuple[str, str], PodView], now: datetime.datetime = NOW) -> list[str]:
    return [one.name for one in record.unfinished(found, lambda space, name: there.get((space, name)), now)]


def test_a_record_comes_back_as_it_was_written() -> None:
    assert record.read(record.text(made())) == made()


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"term": "x"}', "null"])
def test_what_nobody_wrote_is_no_record(text: str | None) -> None:
    assert record.read(text) is None


def test_what_is_left_are_the_pods_without_a_node() -> None:
    assert left(made(), pods()) == ["pod-0", "pod-1", "pod-2"]
    assert left(made(), pods(bound=2)) == ["pod-2"]
    assert left(made(), pods(bound=3)) == []


def test_a_record_is_good_until_its_time_is_up_and_for_the_same_pods() -> None:
    assert left(made(), pods(), UNTIL) == []
    assert left(made(), pods(uid="other")) == []
    assert left(made(), pods(2)) == []
    assert left(made(), pods(bound=1, node="elsewhere")) == []


def test_pods_that_cannot_be_read_are_none() -> None:
    for pods_text in ("", "%%%", "aGVsbG8=", made().pods[:-8]):
        assert left(msgspec.structs.replace(made(), pods=pods_text), pods()) == []


def test_a_thousand_pods_fit_and_a_hundred_thousand_are_not_written_down() -> None:
    rng = random.Random(1)

    def many(count: int) -> list[Target]:
        names = [f"train-0-worker-{rng.getrandbits(40):x}" for _ in range(count)]
        return [Target("ns", name, f"{index}", f"gpu-{index}") for index, name in enumerate(names)]

    assert len(record.text(record.make(many(1000), term=1, now=NOW, until=UNTIL))) < 40_000
    large = record.make(many(20_000), term=1, now=NOW, until=UNTIL, domains=["rack=r1"])
    assert large.pods == ""
    assert large.domains == ("rack=r1",)
