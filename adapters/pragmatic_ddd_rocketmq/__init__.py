"""Events over RocketMQ."""
