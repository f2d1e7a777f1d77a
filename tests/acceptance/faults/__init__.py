"""The run under faults: processes that are killed, paused, crowded and cut off."""
