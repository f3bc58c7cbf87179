"""The places that many rules speak of."""

from __future__ import annotations

from typing import Final

from grove.api.errors import Path

TEMPLATE: Final = Path.parse("spec.template")
CLIQUES: Final = TEMPLATE.field("cliques")
GROUPS: Final = TEMPLATE.field("podCliqueScalingGroups")
SHARING: Final = TEMPLATE.field("resourceSharing")
