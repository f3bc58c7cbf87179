"""Simulated nodes: kubelets as state machines, over the API only."""
