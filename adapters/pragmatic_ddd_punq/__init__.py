"""Registers the core services in a punq container; the ports stay the application's."""

from pragmatic_ddd_punq.core_services import register_core_services

__all__ = ["register_core_services"]
