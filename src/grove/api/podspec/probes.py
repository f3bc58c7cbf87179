"""Probes, lifecycle hooks, and the actions that both take."""

from __future__ import annotations

from typing import Final

from grove.api import grammar
from grove.api.podspec import ports
from grove.api.podspec.tree import Node, judge_always

DEFAULT_GRACE: Final = 30
PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
PROBE_ACTIONS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
HOOK_ACTIONS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_COUNTS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def check(container: Node, grace: int) -> None:
    """The probes and hooks of a container that runs for as long as the pod; `grace` is the pod's termination grace."""
    for key in PROBES:
        if (probe := container.child(key)) is not None:
            _check_probe(probe, key)
    lifecycle = container.child("lifecycle")
    if lifecycle is not None:
        for key in ("postStart", "preStop"):
            if (hook := lifecycle.child(key)) is not None:
                _check_action(hook, HOOK_ACTIONS, grace)


def forbid(container: Node) -> None:
    """An init container that runs to its end has no probes and no hooks."""
    for key in ("lifecycle", *PROBES):
        if container.has(key):
            container.problems.forbidden(
                container.at(key),
                "may not be set for init containers without restartPolicy=Always",
                "remove it, or set restartPolicy: Always to make the container a sidecar",
            )


def _check_probe(probe: Node, kind: str) -> None:
    _check_action(probe, PROBE_ACTIONS, 0)
    for key in _COUNTS:
        probe.at_least(key, 0)
    if kind == "readinessProbe":
        if probe.has("terminationGracePeriodSeconds"):
            probe.problems.invalid(
                probe.at("terminationGracePeriodSeconds"),
                probe.value["terminationGracePeriodSeconds"],
                "must not be set for readinessProbes",
                "remove it: a readiness probe ends no container",
            )
    else:
        threshold = probe.number("successThreshold")
        if threshold not in (None, 0, 1):
            probe.problems.invalid(probe.at("successThreshold"), threshold, "must be 1", "remove it, or set it to 1")
        probe.at_least("terminationGracePeriodSeconds", 1)


def _check_action(handler: Node, actions: tuple[str, ...], grace: int) -> None:
    given = [key for key in actions if handler.has(key)]
    if not given:
        handler.problems.required(handler.path, "must specify a handler type", "give one of " + ", ".join(actions))
        return
    for key in given[1:]:
        handler.problems.forbidden(
            handler.at(key), "may not specify more than 1 handler type", f"keep one of {', '.join(given)}"
        )
    action = handler.child(given[0])
    if action is None:
        return
    match given[0]:
        case "exec":
            if not action.items("command"):
                action.problems.required(action.at("command"), "", "write the command to run, one word an item")
        case "httpGet":
            ports.check_reference(action, "port")
            action.choose("scheme", ("HTTP", "HTTPS"))
            for header in action.each("httpHeaders"):
                name = header.text("name")
                if name is not None:
                    judge_always(header.at("name"), name, grammar.header, header.problems)
        case "tcpSocket" | "grpc":
            ports.check_reference(action, "port")
        case "sleep":
            seconds = action.number("seconds") or 0
            if not 0 <= seconds <= grace:
                action.problems.invalid(
                    action.path,
                    seconds,
                    f"must be non-negative and at most terminationGracePeriodSeconds ({grace})",
                    "sleep for less, or raise terminationGracePeriodSeconds",
                )
