import base64
import datetime as dt
import hmac
import json
import string
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pragmatic_ddd.application.queries import ScrollPositionSigner
from pragmatic_ddd.errors import ScrollPositionError
from pragmatic_ddd.ports import ScrollPosition

_SECRET = b"sixteen bytes..."
_SIGNER = ScrollPositionSigner(_SECRET)
_POSITION = ScrollPosition(order="9c1d", values=("Ulm", 7))

_VALUES = st.one_of(
    st.none(),
    st.text(),
    st.booleans(),
    st.integers(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.datetimes(timezones=st.none() | st.just(dt.UTC)),
    st.dates(),
    st.uuids(),
    st.binary(),
)
_POSITIONS = st.builds(
    lambda order, values: ScrollPosition(order=order, values=values),
    st.text(),
    st.lists(_VALUES, max_size=5),
)


@given(position=_POSITIONS)
def test_a_position_comes_back_with_values_of_the_same_types(position: ScrollPosition) -> None:
    text = _SIGNER.text(position)
    found = _SIGNER.position(text)

    assert found == position
    assert [type(one) for one in found.values] == [type(one) for one in position.values]
    assert set(text) <= set(string.ascii_letters + string.digits + "-_.")


@given(position=_POSITIONS, instead=st.characters())
def test_a_text_with_another_character_is_refused(position: ScrollPosition, instead: str) -> None:
    text = _SIGNER.text(position)
    for where, character in enumerate(text):
        if character != instead:
            with pytest.raises(ScrollPositionError):
                _SIGNER.position(text[:where] + instead + text[where + 1 :])


@given(text=st.text() | st.text("abcXYZ019-_.", max_size=40))
def test_a_text_from_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(ScrollPositionError, match="no text that this application has signed"):
        _SIGNER.position(text)


def test_a_text_that_is_cut_or_longer_is_refused() -> None:
    text = _SIGNER.text(_POSITION)
    payload = text.partition(".")[0]

    for changed in (text[:-1], text + "A", text + "=", text + ".", payload, f"{payload}.", "."):
        with pytest.raises(ScrollPositionError):
            _SIGNER.position(changed)


def test_a_payload_signed_with_another_secret_is_refused() -> None:
    other = ScrollPositionSigner(b"other sixteen b.")

    with pytest.raises(ScrollPositionError):
        _SIGNER.position(other.text(_POSITION))


def test_a_text_of_another_format_is_refused_by_name() -> None:
    text = _SIGNER._signed(json.dumps([2, "9c1d", []]).encode())

    with pytest.raises(ScrollPositionError, match="it is of format 2, not 1") as refused:
        _SIGNER.position(text)
    assert refused.value.reason == "it is of format 2, not 1"


def test_a_text_is_what_it_was_in_every_version() -> None:
    position = ScrollPosition(order="9c1d", values=("Ulm", 7, Decimal("1.50"), None))
    payload, _, signature = _SIGNER.text(position).partition(".")

    decoded = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    assert decoded == b'[1,"9c1d",["Ulm",7,{"decimal":"1.50"},null]]'
    digest = hmac.digest(_SECRET, b"pragmatic_ddd scroll position\0" + decoded, "sha256")
    assert base64.urlsafe_b64decode(f"{signature}==") == digest[:16]


def test_a_payload_signed_with_the_same_secret_for_another_purpose_is_refused() -> None:
    payload, _, signature = _SIGNER.text(_POSITION).partition(".")
    content = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    digest = hmac.digest(_SECRET, content, "sha256")
    elsewhere = base64.urlsafe_b64encode(digest[:16]).rstrip(b"=").decode()
    assert len(elsewhere) == len(signature)

    with pytest.raises(ScrollPositionError):
        _SIGNER.position(f"{payload}.{elsewhere}")


def test_a_secret_is_long_and_never_shown() -> None:
    make: Callable[..., object] = ScrollPositionSigner
    with pytest.raises(ValueError, match=r"^secret has 15 bytes: at least 16, such as"):
        make(b"x" * 15)
    with pytest.raises(TypeError, match=r"^secret = 'a text': give a bytes$"):
        make("a text")

    assert "sixteen" not in repr(_SIGNER)


def test_what_is_no_position_and_no_text_is_refused() -> None:
    write: Callable[..., object] = _SIGNER.text
    read: Callable[..., object] = _SIGNER.position
    with pytest.raises(TypeError, match=r"^position = None: give a ScrollPosition$"):
        write(None)
    with pytest.raises(TypeError, match=r"^text = None: give a str$"):
        read(None)
