"""The outbox on SQLAlchemy."""
