"""The addresses of the proxy."""

import pytest

from pragmatic_ddd_rocketmq_grpc.endpoints import Endpoints


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("proxy:8081", (("proxy", 8081),)),
        ("proxy.example.org:8081;", (("proxy.example.org", 8081),)),
        ("10.0.0.1:8081", (("10.0.0.1", 8081),)),
        (" 10.0.0.1:8081 ; 10.0.0.2:8081 ", (("10.0.0.1", 8081), ("10.0.0.2", 8081))),
    ],
)
def test_one_name_or_several_numbers(text: str, addresses: tuple[tuple[str, int], ...]) -> None:
    endpoints = Endpoints.parse(text)

    assert endpoints.addresses == addresses
    assert Endpoints.parse(str(endpoints)) == endpoints


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "proxy",
        "proxy:",
        ":8081",
        "proxy:0",
        "proxy:65536",
        "proxy:http",
        "http://proxy:8081",
        "proxy-a:8081;proxy-b:8081",
        "10.0.0.1:8081;proxy:8081",
        "10.0.0.1:8081;10.0.0.1:8081",
        "300.0.0.1:8081",
        "[::1]:8081",
        "::1:8081",
        "proxy:8081,other:8081",
        "proxy 8081",
    ],
)
def test_anything_else_is_refused_with_the_rule(text: str) -> None:
    with pytest.raises(ValueError, match=r"host:port|IPv4"):
        Endpoints.parse(text)
