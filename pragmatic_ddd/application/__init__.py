"""What applications wire together: the outbox path, events, configuration."""
