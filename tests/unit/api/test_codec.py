import msgspec
import pytest

from grove.api import codec
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.kinds.podclique import CliqueSpec, PodClique, PodCliqueStatus
from grove.api.kinds.podcliqueset import PodCliqueSetSpec
from grove.api.kinds.processconfig import Debugging


def test_absent_values_are_left_out_and_numbers_stay_also_zero() -> None:
    assert codec.encode(PodCliqueStatus()) == {
        "readyReplicas": 0,
        "updatedReplicas": 0,
        "scheduleGatedReplicas": 0,
        "scheduledReplicas": 0,
    }


def test_an_empty_value_stays_where_leaving_it_out_means_another() -> None:
    """An address of "" means all interfaces; the default is one."""
    assert codec.encode(Debugging(pprof_bind_host="")) == {"pprofBindHost": "", "pprofBindPort": 2753}


def test_what_is_not_ours_passes_through_untouched() -> None:
    pod_spec = {"containers": [{"name": "a", "image": "a", "env": None}], "volumes": [], "x": {"y": ""}}
    tree = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodClique",
        "metadata": {"name": "x", "managedFields": [{}]},
        "spec": {"podSpec": pod_spec, "replicas": 1},
    }
    encoded = codec.encode(codec.decode(tree, PodClique))
    assert encoded["spec"]["podSpec"] == pod_spec
    assert encoded["metadata"] == {"name": "x"}


def test_every_default_of_the_configuration_is_that_of_go_grove() -> None:
    tree = codec.encode(OperatorConfiguration())
    assert tree["runtimeClientConnection"] == {"qps": 100.0, "burst": 120}
    assert tree["leaderElection"] == {
        "enabled": False,
        "leaseDuration": "15s",
        "renewDeadline": "10s",
        "retryPeriod": "2s",
        "resourceLock": "leases",
        "resourceName": "grove-operator-leader-election",
    }
    assert tree["server"]["webhooks"] == {
        "port": 2750,
        "serverCertDir": "/etc/grove-operator/webhook-certs",
        "secretName": "grove-webhook-server-cert",
        "certProvisionMode": "auto",
    }
    assert (tree["server"]["healthProbes"], tree["server"]["metrics"]) == ({"port": 2751}, {"port": 2752})
    assert tree["debugging"] == {"pprofBindHost": "127.0.0.1", "pprofBindPort": 2753}
    syncs = {name: controller["concurrentSyncs"] for name, controller in tree["controllers"].items()}
    assert syncs == {"podCliqueSet": 10, "podClique": 10, "podCliqueScalingGroup": 5, "podGang": 5}
    assert (tree["logLevel"], tree["logFormat"]) == ("info", "json")
    assert tree["network"] == {"clusterDomain": "cluster.local", "autoMNNVLEnabled": False}


def test_pod_specs_are_not_copied() -> None:
    decoded = codec.decode({"roleName": "a", "replicas": 1, "podSpec": {"containers": []}}, CliqueSpec)
    assert codec.encode(decoded)["podSpec"] is decoded.pod_spec


def test_zero_is_a_number_and_false_an_answer() -> None:
    spec = {"replicas": 0, "template": {"cliques": [], "headlessServiceConfig": {"publishNotReadyAddresses": False}}}
    encoded = codec.encode(codec.decode(spec, PodCliqueSetSpec))
    assert encoded["replicas"] == 0
    assert encoded["template"]["headlessServiceConfig"] == {"publishNotReadyAddresses": False}


def test_a_tree_that_was_not_checked_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.replicas"):
        codec.decode({"replicas": "1", "podSpec": {}}, CliqueSpec)
