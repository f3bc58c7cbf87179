"""Which ports of its node a pod takes."""

import msgspec
import pytest

from grove.kube.hostports import HostPort, host_ports
from grove.kube.objects import PodSpec

ANY = "0.0.0.0"


def test_containers_and_sidecars_take_ports_and_init_containers_take_none() -> None:
    spec = {
        "containers": [{"name": "a", "ports": [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81}]}],
        "initContainers": [
            {"name": "b", "ports": [{"containerPort": 1, "hostPort": 1}]},
            {
                "name": "c",
                "restartPolicy": "Always",
                "ports": [{"containerPort": 2, "hostPort": 2, "protocol": "UDP", "hostIP": "10.0.0.1"}],
            },
        ],
    }
    assert host_ports(msgspec.convert(spec, PodSpec)) == [HostPort("10.0.0.1", "UDP", 2), HostPort(ANY, "TCP", 8080)]


@pytest.mark.parametrize(
    ("one", "other", "collide"),
    [
        (HostPort(ANY, "TCP", 80), HostPort(ANY, "TCP", 80), True),
        (HostPort(ANY, "TCP", 80), HostPort("10.0.0.1", "TCP", 80), True),
        (HostPort("10.0.0.1", "TCP", 80), HostPort("10.0.0.2", "TCP", 80), False),
        (HostPort(ANY, "TCP", 80), HostPort(ANY, "UDP", 80), False),
        (HostPort(ANY, "TCP", 80), HostPort(ANY, "TCP", 81), False),
    ],
)
def test_ports_collide_at_one_address_or_where_one_has_all(one: HostPort, other: HostPort, collide: bool) -> None:
    assert one.is_in_the_way_of(other) == other.is_in_the_way_of(one) == collide
