"""Public helpers for tests: a real Kubernetes control plane, and kubectl."""
