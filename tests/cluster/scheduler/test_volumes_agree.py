"""Whether a pod may run somewhere by its volumes: as kube-scheduler says."""

from __future__ import annotations

import random
from typing import Any

from tests.cluster.scheduler.judge import Case, Judge, node, pod

CASES = 320
JSON = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
DRIVER = "$.csi.example.com"
SIZES = ("1Gi", "2Gi", "5Gi", "8Gi", "13Gi")


def test_volumes_are_found_where_kubernetes_finds_them(judge: Judge) -> None:
    verdicts = judge.agrees("volumes", [case(random.Random(number)) for number in range(CASES)])
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
        self.pods = rng.randint(1, 3)

    def case(self) -> Case:
        rng = self.rng
        nodes = [self.node(at) for at in range(rng.randint(1, 4))]
        self.classes()
        for at in range(rng.randint(0, 5)):
            self.free_volume(at)
        for at in range(rng.randint(1, 5)):
            self.claim(at)
        for at in range(len(nodes)):
            self.csi_node(at)
        existing = [
            pod(f"e{at}", on=f"n{rng.randrange(len(nodes))}", **self.volumes()) for at in range(rng.randint(0, 3))
        ]
        asked, *then = [pod(f"pod{at}", **self.volumes()) for at in range(self.pods)]
        return Case(nodes, existing, asked, self.objects, then)

    def some(self, chance: float) -> bool:
        return self.rng.random() < chance

    def add(self, kind: str, version: str, name: str, /, *, metadata: JSON | None = None, **more: Any) -> None:
        self.objects.append(
            {"apiVersion": version, "kind": kind, "metadata": {"name": name, **(metadata or {})}, **more}
        )

    def node(self, at: int) -> JSON:
        labels = {} if self.some(0.15) else {ZONE: self.rng.choice("ab")}
        return node(f"n{at}", labels)

    def classes(self) -> None:
        rng, version = self.rng, "storage.k8s.io/v1"
        self.add(
            "StorageClass",
            version,
            "$-local",
            provisioner="kubernetes.io/no-provisioner",
            volumeBindingMode="WaitForFirstConsumer",
        )
        topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": rng.choice([["a"], ["b"], ["a", "b"]])}]}]
        self.add(
            "StorageClass",
            version,
            "$-made",
            provisioner=DRIVER,
            volumeBindingMode="WaitForFirstConsumer",
            allowedTopologies=topologies if self.some(0.5) else [],
        )
        self.add("StorageClass", version, "$-now", provisioner=DRIVER, volumeBindingMode="Immediate")
        if self.some(0.6):
            self.add("CSIDriver", version, DRIVER, spec={"storageCapacity": self.some(0.6)})
        for at in range(rng.randint(0, 3)):
            topology: JSON | None = rng.choice(
                [
                    {"matchLabels": {ZONE: "a"}},
                    {"matchLabels": {ZONE: "b"}},
                    {"matchLabels": {"kubernetes.io/hostname": "$-n0"}},
                    {"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["a"]}]},
                    {},
                    None,
                ]
            )
            room: JSON = {"capacity": rng.choice(SIZES)} if self.some(0.8) else {}
            if self.some(0.3):
                room["maximumVolumeSize"] = rng.choice(SIZES)
            if topology is not None:
                room["nodeTopology"] = topology
            self.add("CSIStorageCapacity", version, f"c{at}", storageClassName="$-made", **room)

    def affinity(self) -> JSON:
        rng = self.rng
        where = rng.choice(
            [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [f"$-n{rng.randint(0, 3)}"]},
                {"key": ZONE, "operator": "In", "values": [rng.choice("ab")]},
                {"key": ZONE, "operator": "DoesNotExist"},
                None,
            ]
        )
        if where is None:
            return {}
        return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}}}

    def volume(self, name: str, *, phase: str, size: str, metadata: JSON | None = None, **spec: Any) -> None:
        body = {
            "capacity": {"storage": size},
            "csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"},
            "persistentVolumeReclaimPolicy": "Retain",
            "accessModes": ["ReadWriteOnce"],
            **self.affinity(),
            **spec,
        }
        self.add("PersistentVolume", "v1", name, metadata=metadata, spec=body, status={"phase": phase})

    def free_volume(self, at: int) -> None:
        rng = self.rng
        modes = rng.choice([["ReadWriteOnce"], ["ReadWriteOnce", "ReadWriteMany"], ["ReadWriteOncePod"]])
        self.volume(
            f"$-free{at}",
            phase=rng.choice(["Available"] * 5 + ["Released"]),
            # No two are of one size: which one is taken then is no accident.
            size=f"{rng.randint(1, 4) * 2048 + at}Mi",
            # Where one volume was found for a claim, kube-scheduler would yet make another for the next pod.
            storageClassName=rng.choice(["$-local", "$-local", "$-made" if self.pods == 1 else "$-local"]),
            accessModes=modes,
            metadata={"labels": {"disk": rng.choice(["fast", "slow"])}},
            volumeMode=rng.choice(["Filesystem", "Filesystem", "Filesystem", "Block"]),
            **({"claimRef": {"namespace": "$", "name": f"claim{rng.randint(0, 4)}"}} if self.some(0.1) else {}),
        )

    def claim(self, at: int) -> None:
        rng, name = self.rng, f"claim{at}"
        self.claims.append(name)
        if self.some(0.03):
            return  # it is missing
        modes = rng.choice([["ReadWriteOnce"]] * 3 + [["ReadWriteMany"], ["ReadWriteOncePod"]])
        spec: JSON = {
            "accessModes": modes,
            "resources": {"requests": {"storage": rng.choice(SIZES)}},
            "storageClassName": rng.choice(["$-local"] * 4 + ["$-made"] * 5 + ["$-now"]),
        }
        metadata: JSON = {"annotations": {}}
        status: JSON = {}
        kind = rng.choice(
            ["free"] * 12 + ["bound"] * 8 + ["selecting"] * 3 + ["pinned"] * 2 + ["lost", "going", "half"]
        )
        if kind in ("bound", "lost", "going"):
            spec["volumeName"] = f"$-bound{at}"
            metadata["annotations"]["pv.kubernetes.io/bind-completed"] = "yes"
            status = {"status": {"phase": "Lost" if kind == "lost" else "Bound"}}
            if kind == "going":
                metadata["deletionTimestamp"] = "now"
            if kind == "bound" and self.some(0.95):
                self.bound_volume(at, name, modes)
        elif kind == "half":
            spec["volumeName"] = f"$-bound{at}"
        elif kind == "pinned":
            metadata["annotations"]["volume.kubernetes.io/selected-node"] = f"$-n{rng.randint(0, 2)}"
        elif kind == "selecting":
            spec["selector"] = {"matchLabels": {"disk": "fast"}}
        self.add("PersistentVolumeClaim", "v1", name, metadata=metadata, spec=spec, **status)

    def bound_volume(self, at: int, claim: str, modes: list[str]) -> None:
        rng = self.rng
        labels = {}
        if self.some(0.3):
            labels[rng.choice([ZONE, "failure-domain.beta.kubernetes.io/zone"])] = rng.choice(["a", "b", "a__b"])
        self.volume(
            f"$-bound{at}",
            phase="Bound",
            size="20Gi",
            storageClassName="$-local",
            accessModes=modes,
            metadata={"labels": labels},
            claimRef={"namespace": "$", "name": claim},
        )
        if self.some(0.2):
            where = f"$-n{rng.randint(0, 2)}"
            source = {"persistentVolumeName": f"$-bound{at}"}
            spec = {"attacher": DRIVER, "nodeName": where, "source": source}
            self.add("VolumeAttachment", "storage.k8s.io/v1", f"$-attached{at}", spec=spec)

    def csi_node(self, at: int) -> None:
        if self.some(0.5):
            driver: JSON = {"name": DRIVER, "nodeID": f"n{at}"}
            if self.some(0.7):
                driver["allocatable"] = {"count": self.rng.randint(0, 2)}
            self.add("CSINode", "storage.k8s.io/v1", f"$-n{at}", spec={"drivers": [driver]})

    def volumes(self) -> JSON:
        rng = self.rng
        names = rng.sample(self.claims, min(len(self.claims), rng.choice([0, 1, 1, 1, 2, 2, 3])))
        found: list[JSON] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
        if self.some(0.3):
            found.append({"name": "disk", **self.disk()})
        return {"volumes": found}

    def disk(self) -> JSON:
        rng = self.rng
        only = {"readOnly": self.some(0.5)}
        return rng.choice(
            [
                {"gcePersistentDisk": {"pdName": "$-d", **only}},
                {"awsElasticBlockStore": {"volumeID": "$-d"}},
                {"iscsi": {"iqn": "iqn.2026-11.com.example:$", "targetPortal": "10.0.0.1:3260", "lun": 0, **only}},
                {"rbd": {"monitors": rng.choice([["m1"], ["m1", "m2"], ["m3"]]), "image": "$", **only}},
            ]
        )
