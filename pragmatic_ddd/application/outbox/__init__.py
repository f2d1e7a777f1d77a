"""The outbox path: encoding, unit of work, eager publisher, relay."""
