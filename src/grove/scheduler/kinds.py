"""Grove's own kinds as the scheduler follows them, and the annotations that it writes on them."""

from __future__ import annotations

from typing import Final

from grove.api.kinds import catalog
from grove.kube.resources import of_kind

POD_GANGS: Final = of_kind(catalog.POD_GANG)
QUEUES: Final = of_kind(catalog.QUEUE)
TOPOLOGY_BINDINGS: Final = of_kind(catalog.TOPOLOGY_BINDING)

DECISION: Final = "scheduler.grove.io/decision"
"""On a PodGang: where its pods were last decided to go. See record.py."""
PREEMPTION: Final = "scheduler.grove.io/preemption"
"""On a PodGang: what was last evicted for it. See record.py."""
