"""Domain-driven design with a transactional outbox."""
