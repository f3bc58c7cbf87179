"""Whether a pod may run somewhere by its claims to devices: as kube-scheduler says.

Where an expression fails for a device, or all devices of a pool that is being changed are asked for, kube-scheduler
gives up on the pod with an error; Grove refuses the node. Of pods whose claims do not exist, it says nothing at all.
Such worlds are not among these.
"""

from __future__ import annotations

import random
from typing import Any

from tests.cluster.scheduler.judge import CASE, Case, Judge, node, pod

CASES = 320
JSON = dict[str, Any]
VERSION = "resource.k8s.io/v1"
ZONE = "topology.kubernetes.io/zone"
GPU, NIC = "$.gpu.example.com", "$.nic.example.com"


def test_devices_are_given_where_kubernetes_gives_them(judge: Judge) -> None:
    verdicts = judge.agrees("devices", [case(random.Random(number)) for number in range(5000, 5500)])
    placed = sum(bool(verdict.node) for verdict in verdicts)
    assert len(verdicts) / 4 < placed < len(verdicts) * 3 / 4, "cases of both kinds"


def case(rng: random.Random) -> Case:
    return World(rng).case()


class World:
    """Makes one case, piece by piece."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.objects: list[JSON] = []
        self.claims: list[str] = []
        self.devices: list[tuple[str, str, str, str]] = []
        """Driver, pool, name and node."""
        self.whole = not self.some(0.2)
        """Whether all pools are as they should be."""

    def case(self) -> Case:
        rng = self.rng
        nodes = [node(f"n{at}", {ZONE: rng.choice("ab")}) for at in range(rng.randint(1, 3))]
        for at in range(len(nodes)):
            self.pool(GPU, f"n{at}", rng.randint(0, 5), nodeName=f"$-n{at}")
            if self.some(0.5):
                self.pool(NIC, f"n{at}", rng.randint(1, 3), nodeName=f"$-n{at}")
        if self.some(0.3):
            where = [{"key": CASE, "operator": "In", "values": ["$"]}]
            if self.some(0.5):
                where.append({"key": ZONE, "operator": "In", "values": ["a"]})
            selector = {"nodeSelectorTerms": [{"matchExpressions": where}]}
            self.pool(NIC, "fabric", rng.randint(1, 2), nodeSelector=selector)
        self.classes()
        for at in range(rng.randint(1, 5)):
            self.claim(at)
        asked, *then = [pod(f"pod{at}", **self.uses()) for at in range(rng.randint(1, 3))]
        return Case(nodes, [], asked, self.objects, then)

    def some(self, chance: float) -> bool:
        return self.rng.random() < chance

    def add(self, kind: str, name: str, **more: Any) -> None:
        self.objects.append({"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, **more})

    def pool(self, driver: str, name: str, devices: int, **where: Any) -> None:
        rng = self.rng
        made = [self.device(driver, f"d{at}") for at in range(devices)]
        halves = [made[: devices // 2], made[devices // 2 :]] if devices > 1 and self.some(0.3) else [made]
        generation, count = rng.randint(1, 2), len(halves)
        if not self.whole and self.some(0.4):
            count += 1
        elif not self.whole and len(halves) > 1:
            halves[-1] = [*halves[-1], made[0]]
        for at, half in enumerate(halves):
            pool = {"name": name, "generation": generation, "resourceSliceCount": count}
            spec = {"driver": driver, "pool": pool, "devices": half, **where}
            self.add("ResourceSlice", f"{driver}-{name}-{at}", spec=spec)
        if self.some(0.2):
            pool = {"name": name, "generation": 0, "resourceSliceCount": 2}
            spec = {"driver": driver, "pool": pool, "devices": [self.device(driver, "old")], **where}
            self.add("ResourceSlice", f"{driver}-{name}-old", spec=spec)
        self.devices += [(driver, name, one["name"], where.get("nodeName", "")) for one in made]

    def device(self, driver: str, name: str) -> JSON:
        rng = self.rng
        attributes: JSON = {
            "model": {"string": rng.choice(["a100", "h100"])},
            "index": {"int": rng.randint(0, 3)},
            "shared": {"bool": self.some(0.5)},
            "version": {"version": rng.choice(["1.2.3", "1.10.0", "2.0.0-rc.1", "2.0.0"])},
        }
        if self.some(0.9):
            attributes["numa.example.com/node"] = {"int": rng.randint(0, 1)}
        if self.some(0.5):
            attributes["rail"] = {"string": rng.choice("xy")}
        found: JSON = {"name": name, "attributes": attributes}
        found["capacity"] = {"memory": {"value": rng.choice(["40Gi", "80Gi", "141Gi"])}}
        if self.some(0.15):
            effect = rng.choice(["NoSchedule", "NoExecute", "None"])
            found["taints"] = [{"key": "health", "value": rng.choice(["bad", "worse"]), "effect": effect}]
        return found

    def classes(self) -> None:
        for name, driver in (("gpu", GPU), ("nic", NIC)):
            selectors = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
            self.add("DeviceClass", f"$-{name}", spec={"selectors": selectors})
        big = f'device.capacity["{GPU}"].memory.compareTo(quantity("80Gi")) >= 0'
        only = f'device.driver == "{GPU}" && device.attributes["{GPU}"].model == "h100" && {big}'
        self.add("DeviceClass", "$-big", spec={"selectors": [{"cel": {"expression": only}}]})
        own = f'device.driver in ["{GPU}", "{NIC}"]'
        self.add("DeviceClass", "$-any", spec={"selectors": [{"cel": {"expression": own}}]})

    def wish(self) -> JSON:
        rng = self.rng
        kind = rng.choice(["gpu", "gpu", "gpu", "nic", "big", "any", "any"] + ["none"] * self.some(0.1))
        found: JSON = {"deviceClassName": f"$-{kind}"}
        if kind != "any" and self.some(0.5):
            driver = NIC if kind == "nic" else GPU
            found["selectors"] = [{"cel": {"expression": self.expression(driver)}} for _ in range(rng.randint(1, 2))]
        if self.whole and self.some(0.12):
            found["allocationMode"] = "All"
        else:
            found["count"] = rng.choice([1, 1, 1, 2, 2, 3])
        if self.some(0.3):
            found["tolerations"] = [
                rng.choice(
                    [
                        {"key": "health", "operator": "Exists"},
                        {"key": "health", "operator": "Equal", "value": "bad", "effect": "NoSchedule"},
                        {"operator": "Exists", "effect": "NoExecute"},
                    ]
                )
            ]
        return found

    def expression(self, driver: str) -> str:
        of = f'device.attributes["{driver}"]'
        numa = 'device.attributes["numa.example.com"]'
        memory = f'device.capacity["{driver}"].memory'
        return self.rng.choice(
            [
                f'{of}.model == "a100"',
                f'{of}.model != "a100" || {of}.index > 1',
                f"{of}.index in [0, 2]",
                f"{of}.shared",
                f"!{of}.shared && {of}.index <= 2",
                f'{of}.version.isGreaterThan(semver("1.9.0"))',
                f'{of}.version.compareTo(semver("2.0.0")) < 0',
                f'{memory}.isLessThan(quantity("100G"))',
                f'{memory} == quantity("40Gi")',
                f'"rail" in {of} && {of}.rail == "x"',
                f"has({of}.rail)",
                f'cel.bind(own, {of}, own.index >= 1 && own.model.startsWith("h"))',
                f'{of}.missing == 1 || {of}.model.endsWith("100")',
                f'"node" in {numa} ? {numa}.node == 0 : false',
            ]
        )

    def claim(self, at: int) -> None:
        rng, name = self.rng, f"claim{at}"
        self.claims.append(name)
        requests: list[JSON] = []
        for number in range(rng.choice([1, 1, 2, 3])):
            if self.some(0.25):
                wishes = [{"name": f"s{index}", **self.wish()} for index in range(rng.randint(1, 3))]
                requests.append({"name": f"r{number}", "firstAvailable": wishes})
            else:
                requests.append({"name": f"r{number}", "exactly": self.wish()})
        devices: JSON = {"requests": requests}
        if self.some(0.4) and "All" not in str(requests):
            devices["constraints"] = [self.constraint(requests) for _ in range(rng.randint(1, 2))]
        more: JSON = {}
        if self.some(0.3) and self.devices:
            more["status"] = self.status(requests)
        self.add("ResourceClaim", name, spec={"devices": devices}, **more)

    def constraint(self, requests: list[JSON]) -> JSON:
        attribute = self.rng.choice(["numa.example.com/node", f"{GPU}/rail", f"{GPU}/model"])
        found: JSON = {"matchAttribute": attribute}
        if self.some(0.5):
            found["requests"] = [one["name"] for one in requests if self.some(0.7)] or [requests[0]["name"]]
        return found

    def status(self, requests: list[JSON]) -> JSON:
        rng = self.rng
        driver, pool, device, where = rng.choice(self.devices)
        request = requests[0]["name"]
        if "firstAvailable" in requests[0]:
            request += "/" + requests[0]["firstAvailable"][0]["name"]
        result = {"request": request, "driver": driver, "pool": pool, "device": device}
        # kube-scheduler cannot reserve a claim that was allocated without a time.
        allocation: JSON = {"devices": {"results": [result]}, "allocationTimestamp": "2026-11-20T00:00:00Z"}
        if where:
            field = {"key": "metadata.name", "operator": "In", "values": [where]}
            allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        # A claim that nobody uses, kube-scheduler would take its devices from; with 256 users, it would place the pod,
        # and could not write it.
        count = 253 if self.some(0.1) else 1
        users = [{"resource": "pods", "name": f"u{number}", "uid": f"u{number}"} for number in range(count)]
        return {"allocation": allocation, "reservedFor": users}

    def uses(self) -> JSON:
        names = self.rng.sample(self.claims, min(len(self.claims), self.rng.choice([1, 1, 1, 2, 2])))
        claims = [{"name": f"use{at}", "resourceClaimName": name} for at, name in enumerate(names)]
        containers = [{"name": "c", "image": "i", "resources": {"claims": [{"name": one["name"]} for one in claims]}}]
        return {"resourceClaims": claims, "containers": containers}
