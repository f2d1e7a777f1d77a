"""What the outbox costs, beside the best that is written by hand: see README.md."""
