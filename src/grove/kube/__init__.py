"""Speaking to an API server: connection, client, errors, watch, cache."""
