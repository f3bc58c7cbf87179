from __future__ import annotations

import asyncio
from collections.abc import Mapping

from grove.api.fields import JSON
from grove.api.kinds.meta import ObjectMeta
from grove.api.policy import Policy, Topologies
from grove.kube.errors import Forbidden
from grove.operator.admission.authorizer import Protection
from grove.operator.admission.exchange import Request, Response
from grove.operator.admission.judges import Judge, Judges
from grove.operator.admission.webhooks import WEBHOOKS
from tests.unit.operator.admission.requests import asked, workload

SETS = "/webhooks/validate-podcliqueset"
DEFAULTS = "/webhooks/default-podcliqueset"
AUTHORIZER = "/webhooks/authorizer-webhook"
PARENT = ObjectMeta(name="simple", namespace="default")


class World:
    """What the judges know."""

    def __init__(self, *, cached: Topologies | None = None, stored: Topologies | None = None) -> None:
        self.cached: Topologies = cached or {}
        self.stored: Topologies | Exception = self.cached if stored is None else stored
        self.reads = 0
        self.problem = ""
        self.looked_up: list[tuple[str, str]] = []

    def judges(self, protection: Protection | None = None) -> Mapping[str, Judge]:
        async def read() -> Topologies:
            self.reads += 1
            if isinstance(self.stored, Exception):
                raise self.stored
            return self.stored

        def parent(namespace: str, name: str) -> ObjectMeta | None:
            self.looked_up.append((namespace, name))
            return PARENT if name == "simple" else None

        return Judges(
            policy=Policy(),
            topologies=lambda: self.cached,
            read_topologies=read,
            parent=parent,
            known=lambda: self.problem,
            protection=protection,
        ).by_path()

    def ask(self, path: str, request: Request, protection: Protection | None = None) -> Response:
        async def ask() -> Response:
            return await self.judges(protection)[path](request)

        return asyncio.run(ask())


def placed(name: str) -> JSON:
    return workload(topologyConstraint={"topologyName": name, "pack": {"required": "rack"}})


def test_there_is_a_judge_at_every_path() -> None:
    assert World().judges().keys() == {webhook.path for webhook in WEBHOOKS}


def test_what_is_cached_is_not_asked_for() -> None:
    world = World(cached={"gpus": ("zone", "rack")})
    assert world.ask(SETS, asked(_defaulted(world, placed("gpus")))).allowed
    assert world.reads == 0


def test_a_topology_that_the_cache_has_not_seen_is_looked_for() -> None:
    world = World(stored={"gpus": ("zone", "rack")})
    assert world.ask(SETS, asked(_defaulted(world, placed("gpus")))).allowed
    assert world.reads == 1


def test_a_topology_that_is_nowhere_refuses() -> None:
    world = World()
    answer = world.ask(SETS, asked(_defaulted(world, placed("gpus"))))
    assert (answer.code, world.reads) == (422, 1)
    assert "not found" in answer.message


def test_what_is_broken_otherwise_asks_nobody() -> None:
    world = World(cached={"gpus": ("zone",)})
    assert not world.ask(SETS, asked(_defaulted(world, placed("gpus")))).allowed
    assert world.reads == 0


def test_an_api_server_that_does_not_answer_is_no_verdict() -> None:
    world = World()
    world.stored = Forbidden("you may not", code=403)
    answer = world.ask(SETS, asked(_defaulted(world, placed("gpus"))))
    assert (answer.code, answer.reason) == (500, "InternalError")
    assert "ClusterTopologyBindings cannot be read: you may not; try again" in answer.message


def test_before_the_caches_are_filled_nobody_is_judged() -> None:
    world = World()
    world.problem = "podcliquesets are not read yet"
    protection = Protection(operator="o")
    for path, given in ((SETS, None), (AUTHORIZER, protection)):
        answer = world.ask(path, asked(workload()), given)
        assert (answer.allowed, answer.code) == (False, 500)
        assert answer.message == "the operator cannot judge this now: podcliquesets are not read yet; try again"
    assert world.ask(DEFAULTS, asked(workload())).allowed


def test_the_authorizer_looks_for_the_parent_in_the_namespace_of_the_object() -> None:
    tree = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodClique",
        "metadata": {
            "name": "simple-0-worker",
            "namespace": "team",
            "labels": {"app.kubernetes.io/part-of": "simple"},
        },
    }
    world = World()
    protection = Protection(operator="operator")
    assert not world.ask(AUTHORIZER, asked(tree), protection).allowed
    assert world.ask(AUTHORIZER, asked(tree, user="operator"), protection).allowed
    assert world.looked_up == [("team", "simple")] * 2
    assert world.ask(AUTHORIZER, asked(None, operation="CREATE"), protection).code == 400


def test_without_protection_everything_goes() -> None:
    assert World().ask(AUTHORIZER, asked(workload(), operation="DELETE")).allowed


def _defaulted(world: World, tree: JSON) -> JSON:
    from tests.unit.operator.admission.requests import answered, patched

    request = asked(tree)
    result: JSON = patched(tree, answered(request, world.ask(DEFAULTS, request))["patch"])
    return result
