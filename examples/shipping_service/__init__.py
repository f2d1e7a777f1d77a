"""A shipping service: it hears of paid orders, and prepares a shipment for each, exactly once."""
