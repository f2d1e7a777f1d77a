"""Outages: a broker that is away, silent or flapping, and messages that no broker takes."""

from tests.acceptance.faults.outage.part import run

__all__ = ["run"]
