"""What a process has allocated: exact, where its resident memory only tells of megabytes."""

import ctypes

import pytest

# Python's own objects are counted as well, once its allocator leaves them to the C library.
COUNTED = {"PYTHONMALLOC": "malloc"}

_C_LIBRARY = ctypes.CDLL(None)

needs_a_counted_heap = pytest.mark.skipif(
    not hasattr(_C_LIBRARY, "mallinfo2"), reason="needs glibc 2.33 or newer"
)


class _MallInfo(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def allocated_bytes() -> int:
    """Return how much is allocated and not freed, natively and by Python."""
    ask = _C_LIBRARY.mallinfo2
    ask.restype = _MallInfo
    info = ask()
    return int(info.uordblks + info.hblkhd)
