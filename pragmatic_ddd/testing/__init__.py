"""Contract suites, one for each port: subclass one, give it a fixture, run pytest."""
