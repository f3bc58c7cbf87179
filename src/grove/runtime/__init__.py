"""Running things: clock, work queue, controllers, manager, health, metrics and logs."""
