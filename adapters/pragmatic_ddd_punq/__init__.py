"""Registers the core services in a punq container."""
