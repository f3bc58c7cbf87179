"""Speaking to a Kubernetes API server."""
