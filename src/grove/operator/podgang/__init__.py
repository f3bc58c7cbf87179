"""PodGangs: what a scheduler is told to place together."""
