"""The kinds: one module each, declared field by field."""
