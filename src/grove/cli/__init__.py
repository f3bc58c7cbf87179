"""The `grove` command, one file per verb."""
