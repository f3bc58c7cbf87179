"""Who answers at each path: what is known of the cluster, handed to the pure verdicts.

Works from caches; before a topology is called unknown the API server is asked, since `kubectl apply` sends a binding
and the workload that names it within milliseconds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

import msgspec

from grove.api.kinds.meta import ObjectMeta
from grove.api.policy import Policy, Topologies
from grove.kube.errors import KubeError
from grove.operator.admission import authorizer, review
from grove.operator.admission.authorizer import Protection
from grove.operator.admission.exchange import ALLOWED, Request, Response, refused
from grove.operator.admission.webhooks import WEBHOOKS, Webhook
from grove.runtime.health import Check

Judge: TypeAlias = Callable[[Request], Awaitable[Response]]

_CODE: Final = 500
_REASON: Final = "InternalError"


class Judges:
    """See the top of the module; `by_path` is what the server serves."""

    def __init__(
        self,
        *,
        policy: Policy,
        topologies: Callable[[], Topologies],
        read_topologies: Callable[[], Awaitable[Topologies]],
        parent: Callable[[str, str], ObjectMeta | None],
        known: Check,
        protection: Protection | None,
    ) -> None:
        """`topologies` and `parent`, of a namespace and a name, look into caches; `known` says what those still lack.

        `read_topologies` asks the API server. Without protection the authorizer lets everything through.
        """
        self._policy = policy
        self._topologies = topologies
        self._read_topologies = read_topologies
        self._parent = parent
        self._known = known
        self._protection = protection

    def by_path(self) -> Mapping[str, Judge]:
        return {webhook.path: self._judge(webhook) for webhook in WEBHOOKS}

    def _judge(self, webhook: Webhook) -> Judge:
        async def default(request: Request) -> Response:
            return review.default(request, webhook.kinds, self._policy)

        async def validate(request: Request) -> Response:
            return await self._validate(request, webhook)

        async def authorize(request: Request) -> Response:
            return self._authorize(request)

        return {"default": default, "validate": validate, "authorize": authorize}[webhook.purpose]

    async def _validate(self, request: Request, webhook: Webhook) -> Response:
        if problem := self._known():
            return _not_known(problem)
        known = self._topologies()
        answer = review.validate(request, webhook.kinds, self._with(known))
        if not answer.allowed and review.misses_topology(request, known):
            try:
                known = await self._read_topologies()
            except KubeError as error:
                return _not_known(f"ClusterTopologyBindings cannot be read: {error}")
            answer = review.validate(request, webhook.kinds, self._with(known))
        return answer

    def _with(self, topologies: Topologies) -> Policy:
        return msgspec.structs.replace(self._policy, topologies=topologies)

    def _authorize(self, request: Request) -> Response:
        if self._protection is None:
            return ALLOWED
        subject = authorizer.subject_of(request)
        if isinstance(subject, Response):
            return subject
        if problem := self._known():
            return _not_known(problem)
        parent = self._parent(subject.namespace, subject.parent) if subject.parent else None
        return authorizer.decide(subject, parent, self._protection)


def _not_known(problem: str) -> Response:
    return refused(_CODE, _REASON, f"the operator cannot judge this now: {problem}; try again")
