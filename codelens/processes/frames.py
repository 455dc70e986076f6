"""What crosses a pipe between two of our processes: frames of marshalled plain values.

Nothing in a frame can run code when it is read. Both ends are the same Python, which marshal asks for.
"""

from __future__ import annotations

import marshal
import struct
from typing import Any, BinaryIO

_LENGTH = struct.Struct("<I")
_FORMAT = 2
"""marshal's version 2 has no table of shared objects, which costs more here than it saves."""


def write_frame(pipe: BinaryIO, value: Any) -> None:
    """Send plain values (tuples, str, bytes, int, float, None). Raises OSError where the other side is gone."""
    payload = marshal.dumps(value, _FORMAT)
    pipe.write(_LENGTH.pack(len(payload)) + payload)
    pipe.flush()


def read_frame(pipe: BinaryIO) -> bytes | None:
    """The next frame as it came, for `marshal.loads`; None where the other side has ended, even within a frame."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    payload = pipe.read(_LENGTH.unpack(head)[0])
    return payload if len(payload) == _LENGTH.unpack(head)[0] else None
