"""The operator: everything beneath a PodCliqueSet, and the webhooks that judge one before it is stored.

It knows nothing of nodes: a PodGang says what belongs together, and a scheduler places it.
"""
