from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.kube import demand
from grove.kube.objects import PodSpec

Json = dict[str, Any]

GI = 2**30


def of(*containers: Json, init: tuple[Json, ...] = (), **spec: Any) -> demand.Amounts:
    """What a pod asks for whose containers ask for this; of init containers, those with `sidecar` are some."""

    def container(requests: Json) -> Json:
        policy = {"restartPolicy": "Always"} if requests.get("sidecar") else {}
        return {
            "name": "c",
            "resources": {"requests": {name: text for name, text in requests.items() if name != "sidecar"}},
        } | policy

    return demand.of_pod(
        msgspec.convert(
            {"containers": [container(one) for one in containers], "initContainers": [container(one) for one in init]}
            | spec,
            PodSpec,
        )
    )


def test_containers_are_added_up() -> None:
    assert of({"cpu": "500m", "memory": "1Gi"}, {"cpu": 2, "example.com/gpu": "1"}, {}) == {
        "cpu": 2500,
        "memory": GI,
        "example.com/gpu": 1,
    }


def test_init_containers_come_one_after_the_other_and_count_where_they_need_more() -> None:
    init = ({"cpu": "3", "memory": "1Gi"}, {"cpu": "1", "memory": "5Gi"})
    assert of({"cpu": "2", "memory": "4Gi"}, init=init) == {"cpu": 3000, "memory": 5 * GI}


@pytest.mark.parametrize(
    ("init", "cpu"),
    [
        (({"cpu": "1", "sidecar": True},), 3000),
        (({"cpu": "1", "sidecar": True}, {"cpu": "1"}), 3000),
        (({"cpu": "1", "sidecar": True}, {"cpu": "3"}), 4000),
        (({"cpu": "3"}, {"cpu": "1", "sidecar": True}), 3000),
        (({"cpu": "4"}, {"cpu": "1", "sidecar": True}), 4000),
        (({"cpu": "1", "sidecar": True}, {"cpu": "5"}, {"cpu": "1", "sidecar": True}), 6000),
        (({"cpu": "1", "sidecar": True}, {"cpu": "1", "sidecar": True}, {"cpu": "1"}), 4000),
    ],
)
def test_sidecars_stay_beside_all_that_comes_after_them(init: tuple[Json, ...], cpu: int) -> None:
    assert of({"cpu": "2"}, init=init) == {"cpu": cpu}


def test_a_sidecar_that_asks_for_what_nobody_else_does_counts() -> None:
    assert of({"cpu": "1"}, init=({"memory": "1Gi", "sidecar": True}, {"example.com/gpu": 1})) == {
        "cpu": 1000,
        "memory": GI,
        "example.com/gpu": 1,
    }


def test_what_the_pod_asks_for_as_a_whole_takes_the_place_of_its_containers() -> None:
    resources = {"requests": {"cpu": "4", "hugepages-2Mi": "4Mi", "example.com/gpu": 9}}
    assert of({"cpu": "1", "memory": "1Gi", "example.com/gpu": 1}, resources=resources) == {
        "cpu": 4000,
        "memory": GI,
        "hugepages-2Mi": 4 * 2**20,
        "example.com/gpu": 1,
    }
    assert of({"cpu": "1"}, resources={"limits": {"cpu": "4"}}) == {"cpu": 1000}


def test_what_a_sandbox_costs_is_added_to_all_else() -> None:
    overhead = {"cpu": "250m", "memory": "120Mi"}
    assert of({"cpu": "1"}, overhead=overhead) == {"cpu": 1250, "memory": 120 * 2**20}
    assert of({"cpu": "1"}, resources={"requests": {"cpu": "4"}}, overhead=overhead)["cpu"] == 4250


def test_what_is_finer_than_is_counted_is_rounded_once_for_the_whole_pod() -> None:
    assert of({"cpu": "0.5m"}, {"cpu": "500u"}) == {"cpu": 1}
    assert of({"cpu": "1n"}) == {"cpu": 1}
    assert of({"memory": "1500m"}, {"memory": "1500m"}) == {"memory": 3}


def test_amounts_are_those_that_are_counted() -> None:
    assert demand.amounts({"cpu": "1500m", "memory": "1Ki", "pods": 110, "example.com/gpu": "1.5"}) == {
        "cpu": 1500,
        "memory": 1024,
        "pods": 110,
        "example.com/gpu": 2,
    }
    assert demand.amounts({}) == {}


REQUESTS = st.dictionaries(st.sampled_from(("cpu", "memory", "example.com/gpu")), st.integers(0, 9), max_size=3)
INIT = st.lists(st.tuples(REQUESTS, st.booleans()), max_size=4)


@given(st.lists(REQUESTS, min_size=1, max_size=3), INIT)
def test_a_pod_asks_for_the_most_that_runs_at_a_time(regular: list[Json], init: list[tuple[Json, bool]]) -> None:
    found = of(*regular, init=tuple(one | {"sidecar": is_sidecar} for one, is_sidecar in init))
    for name in ("cpu", "memory", "example.com/gpu"):
        unit = 1000 if name == "cpu" else 1
        beside, times = 0, []
        for one, is_sidecar in init:
            times.append(beside + one.get(name, 0))
            beside += one.get(name, 0) if is_sidecar else 0
        times.append(beside + sum(one.get(name, 0) for one in regular))
        assert found.get(name, 0) == max(times) * unit
