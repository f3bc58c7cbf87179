"""What the operator wrote, by verb and resource, as the API server noted it: for whoever wants it to write less."""

from __future__ import annotations

import json
import sys
from collections import Counter

from tests.bench.figures import FOLDER

POLICY = FOLDER / "audit-policy.json"
LOG = FOLDER / "audit.log"


def flags() -> list[str]:
    """For the API server."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    rules = [
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "None", "users": ["system:kube-controller-manager", "system:kube-scheduler"]},
        {"level": "Metadata"},
    ]
    stages = ["RequestReceived", "ResponseStarted"]
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": stages, "rules": rules}
    POLICY.write_text(json.dumps(policy))
    LOG.unlink(missing_ok=True)
    return [f"--audit-policy-file={POLICY}", f"--audit-log-path={LOG}"]


def tell(title: str, pods: int) -> None:
    """Prints all writes since the last time, for each pod."""
    found: Counter[tuple[str, str, int]] = Counter()
    with LOG.open() as lines:
        for line in lines:
            entry = json.loads(line)
            if entry.get("userAgent", "").startswith("grove-operator"):
                target = entry["objectRef"]
                resource = "/".join(part for part in (target["resource"], target.get("subresource")) if part)
                found[entry["verb"], resource, entry["responseStatus"]["code"]] += 1
    with LOG.open("r+") as log:
        log.truncate()
    print(f"{title}: {found.total() / pods:.2f} writes for each pod", file=sys.stderr)
    for (verb, resource, code), count in found.most_common():
        print(f"  {verb:<16} {resource:<40} {code}  {count:>7}  {count / pods:7.2f}", file=sys.stderr)
