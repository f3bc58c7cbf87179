"""PodCliqueSets: what they own, how they are updated, healed and deleted, and what their status says."""
