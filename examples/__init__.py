"""Runnable examples; each says in its first line how to start it."""
