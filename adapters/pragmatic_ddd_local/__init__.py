"""In-memory and thread-pool adapters, for first steps and tests."""
