"""Cluster topologies: from domains that users name to labels of nodes, and how bindings fare."""
