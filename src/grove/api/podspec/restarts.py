"""When containers are restarted: policies, rules by exit code, and what a resize does."""

from __future__ import annotations

from typing import Final

from grove.api.podspec.tree import Node

POD_POLICIES: Final = ("Always", "Never", "OnFailure")
ACTIONS: Final = ("Restart", "RestartAllContainers")
RESIZABLE: Final = ("cpu", "memory")
RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")
MAX_RULES: Final = 20
MAX_EXIT_CODES: Final = 255


def check(container: Node, *, pod_never_restarts: bool, runs_once: bool) -> None:
    """The policies of one container; `runs_once` is an init container that is no sidecar."""
    _check_policy(container)
    _check_rules(container)
    _check_resize(container, pod_never_restarts=pod_never_restarts, runs_once=runs_once)


def _check_policy(container: Node) -> None:
    container.choose("restartPolicy", POD_POLICIES, may_be_empty=False)
    if container.items("restartPolicyRules") and not container.has("restartPolicy"):
        container.problems.required(
            container.at("restartPolicy"),
            "must specify restartPolicy when restart rules are used",
            "set what holds where no rule matches, such as Never",
        )


def _check_rules(container: Node) -> None:
    rules = container.items("restartPolicyRules")
    if len(rules) > MAX_RULES:
        container.problems.invalid(
            container.at("restartPolicyRules"), len(rules), f"must have at most {MAX_RULES} items", "merge some rules"
        )
    for rule in container.each("restartPolicyRules"):
        rule.need_choice("action", ACTIONS)
        codes = rule.child("exitCodes")
        if codes is None:
            if not rule.has("exitCodes"):
                rule.problems.required(
                    rule.at("exitCodes"), "must be specified", "say which exit codes the rule is for"
                )
            continue
        codes.need_choice("operator", ("In", "NotIn"))
        if len(codes.items("values")) > MAX_EXIT_CODES:
            codes.problems.invalid(
                codes.at("values"),
                len(codes.items("values")),
                f"must have at most {MAX_EXIT_CODES} items",
                "use the operator NotIn",
            )


def _check_resize(container: Node, *, pod_never_restarts: bool, runs_once: bool) -> None:
    seen: set[str] = set()
    for resize in container.each("resizePolicy"):
        name, policy = resize.text("resourceName"), resize.text("restartPolicy")
        resize.need_choice("resourceName", RESIZABLE)
        if name and name in seen:
            resize.problems.duplicate(resize.path, name, "name every resource once")
        if name:
            seen.add(name)
        resize.need_choice("restartPolicy", RESIZE_POLICIES)
        if policy == "RestartContainer" and (pod_never_restarts or runs_once):
            why = "pod `restartPolicy` is 'Never'" if pod_never_restarts else "it is an init container and no sidecar"
            resize.problems.invalid(
                resize.at("restartPolicy"), policy, f"must be 'NotRequired' when {why}", "use NotRequired"
            )
