"""The read side: positions as text."""

from pragmatic_ddd.application.queries.scroll_position_signer import ScrollPositionSigner

__all__ = ["ScrollPositionSigner"]
