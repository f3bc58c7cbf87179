"""Requests as an API server sends them."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

from grove.api.fields import JSON
from grove.operator.admission import exchange
from grove.operator.admission.exchange import Request, Response

POD_SPEC: JSON = {"containers": [{"name": "main", "image": "main:v1"}]}


def workload(name: str = "simple", **template: Any) -> JSON:
    """A PodCliqueSet as an API server hands it to webhooks: with the defaults of the schema."""
    cliques = [{"name": "worker", "spec": {"replicas": 2, "podSpec": copy.deepcopy(POD_SPEC)}}]
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
        },
        "spec": {
            "replicas": 1,
            "updateStrategy": {"type": "RollingRecreate"},
            "template": {"cliqueStartupType": "CliqueStartupTypeAnyOrder", "cliques": cliques, **template},
        },
    }


def topology(name: str, *domains: str, **spec: Any) -> JSON:
    levels = [{"domain": domain, "key": f"example.com/{number}"} for number, domain in enumerate(domains)]
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": name},
        "spec": {"levels": levels, **spec},
    }


def asked(
    tree: JSON | None, old: JSON | None = None, *, operation: str = "", user: str = "ann", kind: str = "", **rest: Any
) -> Request:
    """The request to create an object, or to update the old one, read from the bytes that would come."""
    shown: JSON = tree or old or {}
    metadata = shown.get("metadata")
    told = (
        {key: value for key, value in metadata.items() if isinstance(value, str)} if isinstance(metadata, dict) else {}
    )
    group, _, version = str(shown.get("apiVersion", "")).rpartition("/")
    body = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "request-1",
            "kind": {"group": group, "version": version, "kind": kind or shown.get("kind", "")},
            "name": told.get("name", ""),
            "namespace": told.get("namespace", ""),
            "operation": operation or ("CREATE" if old is None else "UPDATE"),
            "userInfo": {"username": user, "groups": ["people"]},
            "object": tree,
            "oldObject": old,
            "dryRun": False,
            **rest,
        },
    }
    return exchange.decode(json.dumps(body).encode())


def answered(request: Request, response: Response) -> JSON:
    """The response as the API server reads it, its patch decoded."""
    whole = json.loads(exchange.encode(request, response))
    assert (whole["apiVersion"], whole["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    answer: JSON = whole["response"]
    assert answer["uid"] == request.uid
    if "patch" in answer:
        answer["patch"] = json.loads(base64.b64decode(answer["patch"]))
    return answer


def patched(tree: Any, operations: list[JSON]) -> Any:
    """What a JSON patch makes of a tree, by an applier that knows nothing of ours."""
    whole = {"": copy.deepcopy(tree)}
    for one in operations:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in one["path"].split("/")]
        parent: Any = whole
        for step in steps[:-1]:
            parent = parent[int(step)] if isinstance(parent, list) else parent[step]
        _change(parent, steps[-1], one)
    return whole[""]


def _change(parent: Any, last: str, operation: JSON) -> None:
    value = copy.deepcopy(operation.get("value"))
    if isinstance(parent, list):
        if operation["op"] == "add":
            parent.insert(len(parent) if last == "-" else int(last), value)
        elif operation["op"] == "remove":
            del parent[int(last)]
        else:
            parent[int(last)] = value
    elif operation["op"] == "remove":
        del parent[last]
    else:
        assert (last in parent) is (operation["op"] == "replace")
        parent[last] = value
