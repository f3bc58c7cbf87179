"""Which scheduler a pod gets, and what is done to it for that."""

from typing import Any

import pytest

from grove.api import codec
from grove.api.kinds.podcliqueset import PodCliqueSetTemplate
from grove.api.policy import Policy
from grove.operator.backends.backend import Backend
from grove.operator.backends.registry import Backends, UnsupportedBackendError

POD: dict[str, Any] = {
    "metadata": {"name": "p", "labels": {"a": "b"}},
    "spec": {"containers": [{"name": "main"}], "schedulingGates": [{"name": "theirs"}]},
}
BACKENDS = Backends(
    Policy(schedulers={"grove-scheduler": "grove", "default-scheduler": "kubernetes", "other": "external"})
)


def template(*schedulers: str) -> PodCliqueSetTemplate:
    cliques = [
        {
            "name": f"c{number}",
            "spec": {"replicas": 1, "podSpec": {"containers": []} | ({"schedulerName": name} if name else {})},
        }
        for number, name in enumerate(schedulers)
    ]
    return codec.decode({"cliques": cliques}, PodCliqueSetTemplate)


@pytest.mark.parametrize(
    ("name", "holds_pods", "reports_gangs"),
    [("grove-scheduler", False, True), ("default-scheduler", True, False), ("other", True, False)],
)
def test_only_groves_scheduler_takes_whole_gangs(name: str, holds_pods: bool, reports_gangs: bool) -> None:
    backend = BACKENDS.of(name)
    assert (backend.name, backend.holds_pods, backend.reports_gangs) == (name, holds_pods, reports_gangs)


@pytest.mark.parametrize("name", ["grove-scheduler", "default-scheduler", "other"])
def test_a_prepared_pod_names_its_scheduler_and_is_otherwise_the_same(name: str) -> None:
    backend: Backend = BACKENDS.of(name)
    prepared = backend.prepare(POD, gang="g", clique="c")
    assert prepared == {**POD, "spec": {**POD["spec"], "schedulerName": name}}
    assert "schedulerName" not in POD["spec"], "what came in is left as it was"
    assert backend.prepare(prepared, gang="g", clique="c") == prepared


def test_the_default_takes_what_nobody_has_configured() -> None:
    assert BACKENDS.of("").name == "grove-scheduler"
    assert BACKENDS.of("unheard-of").name == "grove-scheduler"


@pytest.mark.parametrize(
    ("stated", "expected"),
    [(("", ""), "grove-scheduler"), (("", "other"), "other"), (("default-scheduler", "other"), "default-scheduler")],
)
def test_the_first_clique_that_names_a_scheduler_decides_for_its_set(stated: tuple[str, ...], expected: str) -> None:
    assert BACKENDS.of_template(template(*stated)).name == expected


@pytest.mark.parametrize("kind", ["kai", "volcano", "lpx"])
def test_a_profile_that_cannot_be_served_is_refused_by_name(kind: Any) -> None:
    with pytest.raises(UnsupportedBackendError, match=f"scheduler profile mine: backend {kind} is not supported"):
        Backends(Policy(schedulers={"mine": kind}, default_scheduler="mine"))
