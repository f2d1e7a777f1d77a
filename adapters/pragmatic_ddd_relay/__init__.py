"""The relay as a service, with its command line: ``python -m pragmatic_ddd_relay``."""

from pragmatic_ddd_relay.application import RelayApplication, load_application
from pragmatic_ddd_relay.service import RelayService

__all__ = ["RelayApplication", "RelayService", "load_application"]
