"""PodCliques: their pods, made, replaced and counted."""
