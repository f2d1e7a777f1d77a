"""Restarts: servers that are killed, stopped and started under writers and relay."""

from tests.acceptance.faults.restart.part import run

__all__ = ["run"]
