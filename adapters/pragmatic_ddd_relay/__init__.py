"""The outbox relay as a service, and the operator's command line."""
