"""The operator: a PodCliqueSet becomes PodCliques, scaling groups, PodGangs, pods, services and autoscalers.

`process.py` puts it together. `tree.py` says what a set is made of; each kind has a folder: what is decided about it,
and a `reconcile.py` that does it. It knows nothing of where pods run.
"""
