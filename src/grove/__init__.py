"""Grove runs AI inference and training systems on Kubernetes as gangs of pods. See docs/ for the map of the house."""

__version__ = "0.1.0.dev0"
