"""Services through which Grove's programs are reached, as objects to apply. Pure."""

from __future__ import annotations

from typing import Final

from grove.api.fields import JSON
from grove.api.kinds.schedulerconfig import SchedulerMetricsServer
from grove.install import rbac

SCHEDULER_METRICS: Final = "grove-scheduler-metrics"


def scheduler_metrics(namespace: str) -> JSON:
    """Where the scheduler's metrics are, on the port that its configuration has by default."""
    labels = {"app.kubernetes.io/name": rbac.SCHEDULER.account}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": SCHEDULER_METRICS,
            "namespace": namespace,
            "labels": labels | {"app.kubernetes.io/part-of": "grove"},
        },
        "spec": {
            "selector": labels,
            "ports": [{"name": "metrics", "port": SchedulerMetricsServer().port, "targetPort": "metrics"}],
        },
    }
