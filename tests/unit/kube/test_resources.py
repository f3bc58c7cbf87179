"""Paths: what is asked for, and nothing that was not."""

import pytest

from grove.api.kinds import catalog
from grove.kube.resources import NODES, PODS, Resource, of_kind

GANGS = of_kind(catalog.POD_GANG)


@pytest.mark.parametrize(
    ("resource", "place", "path"),
    [
        (PODS, (), "/api/v1/pods"),
        (PODS, ("a",), "/api/v1/namespaces/a/pods"),
        (PODS, ("a", "b"), "/api/v1/namespaces/a/pods/b"),
        (PODS, ("a", "b", "status"), "/api/v1/namespaces/a/pods/b/status"),
        (PODS, ("a", "b", "proxy/x/y"), "/api/v1/namespaces/a/pods/b/proxy/x/y"),
        (NODES, ("", "n"), "/api/v1/nodes/n"),
        (GANGS, ("a", "g"), "/apis/scheduler.grove.io/v1alpha1/namespaces/a/podgangs/g"),
        (PODS, ("a", "b/../c?d=e#f"), "/api/v1/namespaces/a/pods/b%2F..%2Fc%3Fd%3De%23f"),
        (Resource("g", "v1", "roles", "Role"), ("a", "system:x"), "/apis/g/v1/namespaces/a/roles/system:x"),
    ],
)
def test_paths(resource: Resource, place: tuple[str, ...], path: str) -> None:
    assert resource.path(*place) == path


@pytest.mark.parametrize(
    ("resource", "place", "why"),
    [
        (PODS, ("", "b"), "name its namespace"),
        (NODES, ("a", "n"), "leave the namespace out"),
        (PODS, ("a", "", "status"), "name it"),
        (PODS, ("a", ".."), "is no name"),
        (PODS, ("..", "a"), "is no name"),
    ],
)
def test_what_would_be_another_path_is_refused(resource: Resource, place: tuple[str, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        resource.path(*place)


def test_every_kind_that_is_served_has_a_resource() -> None:
    assert [of_kind(kind).name for kind in catalog.SERVED] == [kind.crd_name for kind in catalog.SERVED]
    with pytest.raises(ValueError, match="is a file"):
        of_kind(catalog.OPERATOR_CONFIGURATION)


def test_names_and_versions() -> None:
    assert (PODS.name, PODS.api_version) == ("pods", "v1")
    assert (GANGS.name, GANGS.api_version) == ("podgangs.scheduler.grove.io", "scheduler.grove.io/v1alpha1")
