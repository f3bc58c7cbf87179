"""Speaking to an API server: connection, client, errors, watches, caches, leases, events."""
