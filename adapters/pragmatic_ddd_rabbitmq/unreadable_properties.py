"""Properties of a message that py-amqp cannot read, replaced by the news of it.

header frame    class, size of the body, properties ──▶ class, size of the body, one header: why

Any client may publish them: a time in milliseconds where AMQP has seconds, a text that is not
UTF-8. Their message would come again on each new connection, and end it again. With properties
that can be read it is received like any other, and what is behind it comes, too.
"""

import struct
from typing import Final

from amqp.exceptions import FrameSyntaxError
from amqp.serialization import decode_properties_basic, dumps

UNREADABLE: Final = "unreadable_properties"  # name of the header that says why

HEADER_FRAME: Final = 2
_PROPERTIES_BEGIN: Final = 12  # behind the class and the size of the body
_HEADERS_ALONE: Final = struct.pack(">H", 1 << 13)

# What py-amqp raises over bytes that it cannot read.
DECODING_ERRORS: Final = (
    ArithmeticError,
    FrameSyntaxError,
    LookupError,
    OSError,
    ValueError,
    struct.error,
)


def readable(payload: bytes) -> bytes | None:
    """Return a header frame that can be read in place of one that cannot; ``None`` if it can.

    Args:
        payload: Of a frame of type ``HEADER_FRAME``.
    """
    try:
        decode_properties_basic(payload, _PROPERTIES_BEGIN)
    except DECODING_ERRORS as error:
        reason = f"{type(error).__name__}: {error}"
        headers: bytes = dumps("F", [{UNREADABLE: reason}])
        return payload[:_PROPERTIES_BEGIN] + _HEADERS_ALONE + headers
    return None
