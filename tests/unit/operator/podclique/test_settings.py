"""What the configuration says of pods."""

from collections.abc import Mapping
from typing import Any

import pytest

from grove.api import admission
from grove.api.errors import Problems
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.operator.podclique.settings import PodSettings, of_configuration


def settings(environment: Mapping[str, str] | None = None, **waiter: Any) -> PodSettings:
    return of_configuration(read({"waiter": waiter}), environment=environment or {}, version="1.2.3")


def read(tree: Mapping[str, Any]) -> OperatorConfiguration:
    problems = Problems()
    kind = {"apiVersion": "operator.config.grove.io/v1alpha1", "kind": "OperatorConfiguration"}
    configuration = admission.operator_configuration({**kind, **tree}, problems)
    assert configuration is not None, problems.errors
    return configuration


def test_the_domain_of_the_cluster_can_be_another_one() -> None:
    assert settings().cluster_domain == "cluster.local"
    found = read({"network": {"clusterDomain": "lab.example"}})
    assert of_configuration(found, environment={}, version="1.2.3").cluster_domain == "lab.example"


@pytest.mark.parametrize("domain", ["", ".lab", "Lab.example", "lab..example", "lab.example."])
def test_what_is_no_domain_is_refused(domain: str) -> None:
    with pytest.raises(AssertionError, match="clusterDomain"):
        read({"network": {"clusterDomain": domain}})


@pytest.mark.parametrize(
    ("environment", "waiter", "image"),
    [
        ({}, {}, "grove-initc:1.2.3"),
        ({"GROVE_INIT_CONTAINER_IMAGE": "registry/initc"}, {}, "registry/initc:1.2.3"),
        ({"GROVE_INIT_CONTAINER_IMAGE": "registry/initc"}, {"image": "mine:7"}, "mine:7"),
    ],
)
def test_the_image_is_the_configured_one_or_that_of_this_version(
    environment: Mapping[str, str], waiter: Mapping[str, str], image: str
) -> None:
    assert settings(environment, **waiter).waiter_image == image


def test_what_is_not_said_has_a_default() -> None:
    amounts = {"cpu": "100m", "memory": "128Mi"}
    assert settings() == PodSettings(
        waiter_image="grove-initc:1.2.3", waiter_resources={"requests": amounts, "limits": amounts}
    )


def test_limits_are_the_requests_unless_they_are_stated() -> None:
    requests = {"cpu": "1"}
    assert settings(resources={"requests": requests}).waiter_resources == {"requests": requests, "limits": requests}
    assert settings(resources={"requests": {}, "limits": {}}).waiter_resources == {}


def test_all_keys_are_passed_on() -> None:
    found = settings(imagePullPolicy="Always", position="first", tokenExpirationSeconds=900)
    assert (found.waiter_pull_policy, found.waiter_position, found.token_seconds) == ("Always", "first", 900)
