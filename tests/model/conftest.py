"""Hypothesis for everyone alike: the same examples on every machine and run, and no deadline on busy machines."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "grove", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("grove")
