"""AMQP URIs, and that they keep their secret."""

import pytest

from pragmatic_ddd_rabbitmq.broker_address import BrokerAddress, parse_addresses


def test_a_uri_is_read() -> None:
    address = BrokerAddress.parse("amqps://sh%40p:s%2Fcret@rabbit:5670/orders%2Feu")

    assert address == BrokerAddress(
        host="rabbit",
        port=5670,
        virtual_host="orders/eu",
        user="sh@p",
        password="s/cret",
        is_encrypted=True,
    )
    assert str(address) == "amqps://rabbit:5670/orders%2Feu"


@pytest.mark.parametrize("text", ["amqp://rabbit", "amqp://rabbit/", "amqp://rabbit/%2F"])
def test_what_is_left_out_is_as_usual(text: str) -> None:
    address = BrokerAddress.parse(text)

    assert (address.port, address.virtual_host) == (5672, "/")
    assert (address.user, address.password) == ("guest", "guest")
    assert BrokerAddress.parse("amqps://rabbit").port == 5671


def test_an_address_may_be_a_number() -> None:
    assert str(BrokerAddress.parse("amqp://[::1]:5673")) == "amqp://[::1]:5673"


def test_a_cluster_has_several() -> None:
    addresses = parse_addresses("amqp://a:5672/shop, amqp://b:5672/shop")

    assert [address.host for address in addresses] == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rabbit:5672",
        "http://u:topsecret@rabbit",
        "amqp://",
        "amqp://u:topsecret@rabbit:port",
        "amqp://u:topsecret@rabbit:0",
        "amqp://u:topsecret@rabbit:99999",
        "amqp://u:topsecret@rabbit/a/b",
        "amqp://u:topsecret@rabbit/shop?heartbeat=5",
        "amqp://u:topsecret@rabbit,",
        "amqp://u:top/secret@rabbit",
    ],
)
def test_what_is_no_address_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ValueError, match="amqp://user:password@host") as caught:
        parse_addresses(text)

    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_the_password_is_not_shown() -> None:
    address = BrokerAddress.parse("amqp://shop:topsecret@rabbit")

    assert "topsecret" not in f"{address} {address!r}"
