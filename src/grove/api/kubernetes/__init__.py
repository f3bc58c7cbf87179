"""The Kubernetes types that Grove's kinds embed. `types.json` is written by tools/schemas/embed.py; do not edit it."""
