"""Grove's own kinds as an API server serves them, as far as the operator handles them."""

from __future__ import annotations

from typing import Final

from grove.api.kinds import catalog
from grove.kube.resources import of_kind

POD_CLIQUE_SETS: Final = of_kind(catalog.POD_CLIQUE_SET)
POD_CLIQUES: Final = of_kind(catalog.POD_CLIQUE)
SCALING_GROUPS: Final = of_kind(catalog.SCALING_GROUP)
POD_GANGS: Final = of_kind(catalog.POD_GANG)
TOPOLOGY_BINDINGS: Final = of_kind(catalog.TOPOLOGY_BINDING)
