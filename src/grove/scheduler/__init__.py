"""The scheduler: PodGangs become pods on nodes."""
