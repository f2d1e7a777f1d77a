"""The topics that a consumer group has for itself."""


def dead_letter_topic(group: str) -> str:
    """Return where a group keeps what it has given up."""
    return f"{group}-dead-letter"


def delay_topic(group: str) -> str:
    """Return where a group keeps copies for subscribers with delayed delivery."""
    return f"{group}-delay"
