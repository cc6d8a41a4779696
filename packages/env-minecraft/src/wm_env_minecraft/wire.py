"""The messages between the harness and a game's interpreter: a JSON header, then the raw bytes of arrays.

    4 bytes   b"WMMC"
    4 bytes   length of the JSON, unsigned, big-endian
    8 bytes   length of the arrays together, likewise
    JSON      {"body": ..., "arrays": [[dtype, shape], ...]}, UTF-8; in the body, {"$array": i} is the i-th array
    arrays    one after the other, in C order

Nothing is pickled: what arrives cannot run, and arrays of numpy 1 and numpy 2 understand each other. Runs on
Python 3.8 too.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

import numpy as np

PROTOCOL = 1
"""The two sides must speak the same."""

MAGIC = b"WMMC"
_HEAD = struct.Struct("!4sIQ")
_MOST_JSON = 1 << 26
_MOST_BYTES = 1 << 30
_NUMBERS = "biuf"
_SMALL = 1 << 16
"""Messages of fewer bytes are sent in one call; larger arrays without a copy."""


class WireError(Exception):
    """The other side can no longer be talked to."""


class Closed(WireError):
    """The other side has closed its end, or died."""


class Silent(WireError):
    """The other side did not answer in time."""


class Garbage(WireError):
    """What arrived is no message."""


def send(channel: socket.socket, body: Any, timeout: float | None = None) -> None:
    """Send one message; `Silent` when the other side does not take it within `timeout` seconds."""
    arrays: list[np.ndarray] = []
    encoded = _encoded(body, arrays)
    table = [[array.dtype.str, array.shape] for array in arrays]
    text = json.dumps({"body": encoded, "arrays": table}, separators=(",", ":")).encode()
    head = _HEAD.pack(MAGIC, len(text), sum(array.nbytes for array in arrays)) + text
    channel.settimeout(timeout)
    try:
        if sum(array.nbytes for array in arrays) < _SMALL:
            channel.sendall(head + b"".join(array.tobytes() for array in arrays))
            return
        channel.sendall(head)
        for array in arrays:
            channel.sendall(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    except OSError as error:
        raise _failure(error, timeout) from error


def receive(channel: socket.socket, timeout: float | None = None) -> Any:
    """The next message; `Silent` when it is not there in full within `timeout` seconds."""
    deadline = None if timeout is None else time.monotonic() + timeout
    magic, text_bytes, array_bytes = _HEAD.unpack(_exactly(channel, _HEAD.size, deadline, timeout))
    if magic != MAGIC or text_bytes > _MOST_JSON or array_bytes > _MOST_BYTES:
        raise Garbage(f"received {magic!r} and lengths of {text_bytes} and {array_bytes} bytes, which is no message")
    rest = memoryview(_exactly(channel, text_bytes + array_bytes, deadline, timeout))
    try:
        message = json.loads(bytes(rest[:text_bytes]))
        arrays = _arrays(message["arrays"], rest[text_bytes:])
        return _decoded(message["body"], arrays)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise Garbage(f"received a message that cannot be read: {type(error).__name__}: {error}") from error


def _encoded(value: Any, arrays: list[np.ndarray]) -> Any:
    """`value` as JSON knows it, its arrays of numbers moved to `arrays`; what else there is becomes its `repr`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in _NUMBERS:
        arrays.append(value)
        return {"$array": len(arrays) - 1}
    if isinstance(value, (np.ndarray, np.generic)):
        return _encoded(value.tolist(), arrays)
    if isinstance(value, dict):
        return {str(key): _encoded(inner, arrays) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_encoded(inner, arrays) for inner in value]
    return repr(value)


def _decoded(value: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, dict):
        if len(value) == 1 and "$array" in value:
            return arrays[value["$array"]]
        return {key: _decoded(inner, arrays) for key, inner in value.items()}
    if isinstance(value, list):
        return [_decoded(inner, arrays) for inner in value]
    return value


def _arrays(table: list[Any], data: memoryview) -> list[np.ndarray]:
    arrays, offset = [], 0
    for name, shape in table:
        dtype = np.dtype(str(name))
        if dtype.kind not in _NUMBERS or any(side < 0 for side in shape):
            raise ValueError(f"arrays of {name} and shape {shape} are not sent")
        size = dtype.itemsize
        for side in shape:
            size *= side
        arrays.append(np.frombuffer(data[offset : offset + size], dtype).reshape(shape))
        offset += size
    if offset != len(data):
        raise ValueError(f"arrays of {offset} bytes were announced, and {len(data)} came")
    return arrays


def _exactly(channel: socket.socket, size: int, deadline: float | None, timeout: float | None) -> bytearray:
    buffer = bytearray(size)
    view, filled = memoryview(buffer), 0
    while filled < size:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise Silent(f"no answer within {timeout:g} seconds")
        try:
            channel.settimeout(left)
            count = channel.recv_into(view[filled:])
        except OSError as error:
            raise _failure(error, timeout) from error
        if count == 0:
            raise Closed("the connection was closed")
        filled += count
    return buffer


def _failure(error: OSError, timeout: float | None) -> WireError:
    if isinstance(error, socket.timeout):
        return Silent(f"no answer within {timeout:g} seconds")
    return Closed(f"the connection broke: {error.strerror or error}")
