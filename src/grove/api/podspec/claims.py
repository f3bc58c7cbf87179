"""Resource claims of the pod: devices that it gets from a claim of its own or one that it shares."""

from __future__ import annotations

from typing import Final

from grove.api import grammar
from grove.api.podspec.tree import Node, judge_always

SOURCES: Final = ("resourceClaimName", "resourceClaimTemplateName")


def check(spec: Node) -> set[str]:
    """The claims' names, for the containers that use them."""
    known: set[str] = set()
    for claim in spec.each("resourceClaims"):
        name = claim.text("name")
        if claim.need("name", "name the claim, so that containers can use it", grammar.label) and name in known:
            claim.problems.duplicate(claim.at("name"), name, "give every claim a name of its own")
        if name:
            known.add(name)
        given = [key for key in SOURCES if claim.has(key)]
        if len(given) != 1:
            claim.problems.invalid(
                claim.path,
                name,
                "must have exactly one of resourceClaimName and resourceClaimTemplateName",
                "use resourceClaimTemplateName for a claim of each pod, resourceClaimName for one that pods share",
            )
        for key in given:
            value = claim.text(key)
            if value is not None:
                judge_always(claim.at(key), value, grammar.subdomain, claim.problems)
    return known
