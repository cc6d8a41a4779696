from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from wm_env_minecraft import wire

Pair = tuple[socket.socket, socket.socket]
PLAIN = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text()
NUMBERS = st.sampled_from(["uint8", "int64", "float32", ">i4", "bool"]).flatmap(
    lambda dtype: arrays.arrays(np.dtype(dtype), arrays.array_shapes(min_dims=0, min_side=0, max_side=4))
)
KEYS = st.text(st.characters(exclude_characters="$", exclude_categories=["Cs"]))
BODIES = st.recursive(
    PLAIN | NUMBERS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@settings(deadline=None, max_examples=60)
@given(BODIES)
def test_what_is_sent_arrives(body: Any) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire.send(ours, body, 5)
        assert same(body, wire.receive(theirs, 5))


def test_arrays_that_were_received_can_be_written_to(pair: Pair) -> None:
    wire.send(pair[0], np.arange(3), 1)
    received = wire.receive(pair[1], 1)
    received[0] = 7
    assert received.tolist() == [7, 1, 2]


def test_arrays_larger_than_the_sockets_buffer_arrive(pair: Pair) -> None:
    from threading import Thread

    picture = np.random.default_rng(0).integers(0, 256, (360, 640, 3), np.uint8)[::-1]
    sender = Thread(target=wire.send, args=(pair[0], {"pov": picture}, 10))
    sender.start()
    np.testing.assert_array_equal(wire.receive(pair[1], 10)["pov"], picture)
    sender.join()


def test_names_in_arrays_and_unknown_objects_arrive_as_text(pair: Pair) -> None:
    wire.send(pair[0], {"names": np.array(["air", "log"]), "one": np.float32(0.5), "odd": 1 + 2j, "set": {3}}, 1)
    assert wire.receive(pair[1], 1) == {"names": ["air", "log"], "one": 0.5, "odd": "(1+2j)", "set": [3]}


def test_a_closed_connection_is_closed(pair: Pair) -> None:
    pair[0].close()
    with pytest.raises(wire.Closed):
        wire.receive(pair[1], 1)


def test_a_message_cut_short_is_closed(pair: Pair) -> None:
    pair[0].sendall(struct.pack("!4sIQ", b"WMMC", 100, 0) + b"{")
    pair[0].close()
    with pytest.raises(wire.Closed):
        wire.receive(pair[1], 1)


def test_a_message_that_stays_away_is_silent(pair: Pair) -> None:
    with pytest.raises(wire.Silent, match=r"no answer within 0\.05 seconds"):
        wire.receive(pair[1], 0.05)


def test_a_message_that_comes_byte_by_byte_is_silent_when_its_time_is_over(pair: Pair) -> None:
    from threading import Event, Thread

    over = Event()

    def drip() -> None:
        pair[0].sendall(struct.pack("!4sIQ", b"WMMC", 1000, 0))
        while not over.wait(0.02):
            pair[0].sendall(b" ")

    dripping = Thread(target=drip)
    dripping.start()
    with pytest.raises(wire.Silent):
        wire.receive(pair[1], 0.2)
    over.set()
    dripping.join()


@pytest.mark.parametrize(
    "message",
    [
        b"HTTP/1.1 200 OK\r\n",
        struct.pack("!4sIQ", b"WMMC", 1 << 31, 0),
        struct.pack("!4sIQ", b"WMMC", 1, 1 << 50),
        struct.pack("!4sIQ", b"WMMC", 4, 0) + b"\xff\xfe{}",
        struct.pack("!4sIQ", b"WMMC", 2, 0) + b"[]",
        struct.pack("!4sIQ", b"WMMC", 23, 0) + b'{"body":1,"arrays":[1]}',
        struct.pack("!4sIQ", b"WMMC", 37, 0) + b'{"body":{"$array":0},"arrays":[]}    ',
        struct.pack("!4sIQ", b"WMMC", 36, 8) + b'{"body":1,"arrays":[["|O",[1]]]}    ' + bytes(8),
        struct.pack("!4sIQ", b"WMMC", 36, 8) + b'{"body":1,"arrays":[["|u1",[9]]]}   ' + bytes(8),
    ],
)
def test_what_is_no_message_is_garbage(pair: Pair, message: bytes) -> None:
    pair[0].sendall(message.ljust(16, b"\0"))
    with pytest.raises(wire.Garbage):
        wire.receive(pair[1], 1)
