"""Real servers on loopback for the tests, databases and brokers, without containers.

From a shell ``python3 tests/services start``; from a test ``service("rocketmq-broker").kill()``.
Standard library only: it has to run before anything is installed.
"""
