"""The admission webhooks: what they answer, the server that answers, its certificates, and how they are registered."""
