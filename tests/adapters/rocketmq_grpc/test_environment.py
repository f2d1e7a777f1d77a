"""The environment of these tests, which `make test` makes beside the one of all others."""

from importlib.metadata import distributions


def test_the_two_clients_of_rocketmq_do_not_share_an_environment() -> None:
    found = {
        name
        for name in ("rocketmq-python-client", "rocketmq-client-python")
        if any(distributions(name=name))
    }

    assert found == {"rocketmq-python-client"}
