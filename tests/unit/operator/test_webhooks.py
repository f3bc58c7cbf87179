"""How the API server comes to the webhooks."""

from __future__ import annotations

from grove.operator.admission.registration import Service, Url
from grove.operator.webhooks import BY_SERVICE, way_to


def test_by_the_service_of_the_namespace() -> None:
    way = way_to(BY_SERVICE, "", namespace="ns", domain="cluster.local")
    assert way.where == Service(namespace="ns")
    assert "grove-operator.ns.svc" in way.names


def test_by_the_url_of_the_configuration_for_which_the_certificate_is_too() -> None:
    way = way_to(BY_SERVICE, "https://hooks.example.com:8443", namespace="ns", domain="cluster.local")
    assert way.where == Url("https://hooks.example.com:8443")
    assert way.names[-1] == "hooks.example.com"


def test_at_an_address_of_this_machine_whatever_port_it_listens_on() -> None:
    assert way_to("127.0.0.1", "https://other", namespace="ns", domain="cluster.local") == (("127.0.0.1",), None)
