"""Events inside one process: subscribers, their order, dispatch, topics."""
