"""Property tests are the same in every run: what one machine finds, all find."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "grove", derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("grove")
