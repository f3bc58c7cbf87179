"""The guide of simulated nodes says what there is, and what it shows is understood."""

import re
from pathlib import Path

import msgspec
import pytest
import yaml

from grove.nodes import marks, plans, shape
from grove.nodes.objects import PodRecord
from grove.nodes.plans import Defaults

GUIDE = Path(__file__).parents[3] / "docs/guides/simulated-nodes.md"


@pytest.fixture(scope="module")
def text() -> str:
    return GUIDE.read_text(encoding="utf-8")


def test_every_word_for_pods_has_its_row(text: str) -> None:
    assert tuple(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)) == marks.BEHAVIOURS


def test_every_failure_and_label_is_named(text: str) -> None:
    for word in (*marks.FAILURES, marks.FLEET, marks.FAIL, marks.DRAIN, *shape.MODELS):
        assert word in text


def test_the_pod_in_it_is_understood(text: str) -> None:
    [manifest] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    pod = msgspec.convert(yaml.safe_load(manifest), PodRecord)
    plan, problems = plans.of_pod(pod, {}, Defaults())
    assert problems == ()
    assert plan.regular[0].behaviour.crashes == 2
    assert plan.init[0].behaviour.ready_delay.longest == 5
