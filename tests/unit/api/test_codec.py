"""Decoding and encoding: what generated trees do not show."""

from __future__ import annotations

import msgspec
import pytest

from grove.api import codec
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.kinds.podclique import CliqueSpec
from grove.api.kinds.podcliqueset import PodCliqueSetSpec

POD_SPEC = {"containers": [{"name": "main", "unknown": None}], "later": {"kubernetes": 1}}


def test_pod_specs_pass_untouched() -> None:
    decoded = codec.decode({"roleName": "a", "replicas": 1, "podSpec": POD_SPEC}, CliqueSpec)
    assert decoded.pod_spec == POD_SPEC
    assert codec.encode(decoded)["podSpec"] is decoded.pod_spec


def test_zero_is_a_number_and_false_an_answer() -> None:
    spec = {"replicas": 0, "template": {"cliques": [], "headlessServiceConfig": {"publishNotReadyAddresses": False}}}
    encoded = codec.encode(codec.decode(spec, PodCliqueSetSpec))
    assert encoded["replicas"] == 0
    assert encoded["template"]["headlessServiceConfig"] == {"publishNotReadyAddresses": False}


def test_an_empty_text_is_not_the_default() -> None:
    tree = {"leaderElection": {"resourceName": ""}}
    assert codec.encode(codec.decode(tree, OperatorConfiguration))["leaderElection"]["resourceName"] == ""


def test_a_tree_that_was_not_checked_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.replicas"):
        codec.decode({"replicas": "1", "podSpec": {}}, CliqueSpec)
