"""The functions of the native library that make a message, called without letting the GIL go.

``ctypes`` lets it go around each call of a ``CDLL``, and then waits for it again: behind all other
threads that send. A message takes a dozen such calls, none of which does more than copy text.
"""

import ctypes
from collections.abc import Callable
from typing import Any, Self

import attrs

_Function = Callable[..., Any]


@attrs.frozen(kw_only=True, repr=False)
class MessageFunctions:
    """Functions of the C API (CMessage.h); a message is a pointer.

    Attributes:
        create: Takes a topic, and returns a message, which is to be destroyed.
        set_body: Takes a message, its content and the length of that.
        set_keys: Takes a message and text.
        set_tags: Takes a message and text.
        set_property: Takes a message, a name and a value.
        set_delay_level: Takes a message and a number.
        destroy: Takes a message.
    """

    create: _Function
    set_body: _Function
    set_keys: _Function
    set_tags: _Function
    set_property: _Function
    set_delay_level: _Function
    destroy: _Function

    @classmethod
    def of(cls, library: Any) -> Self:  # noqa: ANN401 - ctypes.CDLL
        """Return those of a loaded library."""
        pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int

        def function(name: str, result: type, *arguments: type) -> _Function:
            return ctypes.PYFUNCTYPE(result, *arguments)((name, library))

        return cls(
            create=function("CreateMessage", pointer, text),
            set_body=function("SetByteMessageBody", number, pointer, text, number),
            set_keys=function("SetMessageKeys", number, pointer, text),
            set_tags=function("SetMessageTags", number, pointer, text),
            set_property=function("SetMessageProperty", number, pointer, text, text),
            set_delay_level=function("SetDelayTimeLevel", number, pointer, number),
            destroy=function("DestroyMessage", number, pointer),
        )
