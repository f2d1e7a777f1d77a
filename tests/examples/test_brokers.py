"""The URL by which the examples find their broker."""

import pytest

from examples.order_service.brokers import over_broker
from examples.order_service.composition_root import TOPICS
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("shop:topsecret@host:9092", "it has no scheme;"),
        ("kafka", "it has no scheme;"),
        ("http://shop:topsecret@host", "it begins with 'http://';"),
    ],
)
def test_a_url_of_no_broker_is_refused_and_no_password_is_shown(url: str, found: str) -> None:
    serializer = OrjsonEventSerializer(EventTypeRegistry())

    with pytest.raises(ConfigurationError, match=found) as caught:
        over_broker(url, None, serializer, TOPICS)

    assert "begin with one of kafka, amqp" in str(caught.value)
    assert "topsecret" not in str(caught.value)
