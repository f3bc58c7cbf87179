"""Which schedulers, topologies and modes an operator's configuration means (decision 0007)."""

from typing import Any

import pytest

from grove.api import admission, policy
from grove.api.errors import Problems
from grove.api.policy import Policy

HEADER = {"apiVersion": "operator.config.grove.io/v1alpha1", "kind": "OperatorConfiguration"}


def of(**settings: Any) -> Policy:
    problems = Problems()
    configuration = admission.operator_configuration({**HEADER, **settings}, problems)
    assert configuration is not None, problems.errors
    return policy.of_configuration(configuration)


def profiles(*names: str, **more: Any) -> dict[str, Any]:
    return {"profiles": [{"name": name} for name in names], **more}


def test_an_empty_configuration_means_groves_scheduler_with_topology() -> None:
    assert of() == Policy()
    assert of().schedulers == {"grove-scheduler": "grove", "default-scheduler": "kubernetes"}
    assert (of().default_scheduler, of().topology_enabled, of().mode) == ("grove-scheduler", True, "lenient")


def test_a_file_that_names_profiles_means_what_it_means_in_go() -> None:
    rules = of(scheduler=profiles("kai-scheduler"))
    assert rules.schedulers == {"kai-scheduler": "kai", "default-scheduler": "kubernetes"}
    assert (rules.default_scheduler, rules.topology_enabled) == ("default-scheduler", False)


def test_groves_scheduler_is_the_default_where_it_is_listed() -> None:
    assert of(scheduler=profiles("default-scheduler", "grove-scheduler")).default_scheduler == "grove-scheduler"


def test_the_default_profile_can_be_stated() -> None:
    rules = of(scheduler=profiles("kai-scheduler", defaultProfileName="kai-scheduler"))
    assert rules.default_scheduler == "kai-scheduler"


@pytest.mark.parametrize("enabled", [True, False])
def test_topology_is_as_stated(enabled: bool) -> None:
    assert of(topologyAwareScheduling={"enabled": enabled}).topology_enabled is enabled


def test_a_scheduler_of_any_name_can_have_any_backend() -> None:
    rules = of(scheduler={"profiles": [{"name": "mine", "backend": "external"}, {"name": "gangs", "backend": "grove"}]})
    assert rules.schedulers["mine"] == "external"
    assert rules.is_topology_aware("gangs")
    assert rules.is_topology_aware("mine")
    assert not rules.is_topology_aware("default-scheduler")
    assert not rules.is_topology_aware("unknown")


def test_keys_that_nobody_knows_are_passed_over_with_a_warning() -> None:
    """Go Grove's chart itself writes one."""
    problems = Problems()
    document = {**HEADER, "authorizer": {"reconcilerServiceAccountUserName": "x", "enabled": True}}
    configuration = admission.operator_configuration(document, problems)
    assert configuration is not None
    assert configuration.authorizer.enabled
    assert [str(one.path) for one in problems.warnings] == ["authorizer.reconcilerServiceAccountUserName"]


def test_a_scheduler_configuration_is_read_with_its_defaults() -> None:
    header = {"apiVersion": "scheduler.config.grove.io/v1alpha1", "kind": "SchedulerConfiguration"}
    problems = Problems()
    configuration = admission.scheduler_configuration({**header, "preemption": {"policy": "minGangs"}}, problems)
    assert configuration is not None
    assert configuration.scheduler_names == ("grove-scheduler",)
    assert (configuration.preemption.policy, configuration.preemption.enabled) == ("minGangs", True)
    assert (configuration.server.metrics.port, configuration.runtime_client_connection.qps) == (8080, 300)


def test_a_document_of_another_kind_is_no_scheduler_configuration() -> None:
    assert admission.scheduler_configuration(HEADER, Problems()) is None
