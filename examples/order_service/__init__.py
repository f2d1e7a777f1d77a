"""A service in layers: orders that are placed, paid and shipped, and events that tell it."""
