"""What requests are told."""

import json

from grove.kube import options
from grove.kube.client import with_kind
from grove.kube.decoding import encode
from grove.kube.resources import LEASES


def test_a_deletion_says_only_what_was_asked() -> None:
    plain = options.delete_options(propagation="", grace_period=None, dry_run=False)
    assert json.loads(encode(plain)) == {"kind": "DeleteOptions", "apiVersion": "v1"}
    full = options.delete_options(propagation="Foreground", grace_period=0, dry_run=True, uid="u", resource_version="5")
    assert json.loads(encode(full)) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
        "dryRun": ["All"],
        "preconditions": {"uid": "u", "resourceVersion": "5"},
    }


def test_selectors() -> None:
    assert options.select({"a": "b", "c": ""}, "x!=y") == [("labelSelector", "a=b,c="), ("fieldSelector", "x!=y")]
    assert options.select("", {}) == []


def test_a_dict_is_told_its_kind_and_anything_else_is_left_alone() -> None:
    assert with_kind(LEASES, {"spec": {}}) == {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {}}
    known = {"apiVersion": "x/v1", "kind": "Y"}
    assert with_kind(LEASES, known) is known
    assert with_kind(LEASES, b"{}") == b"{}"
