"""The recorder of failure drills, as far as it needs no cluster."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path
from typing import Final

import pytest

from tests.fidelity.recorder.cluster import _end_offset, _epochs
from tests.fidelity.recorder.course import BROKERS, PARTITIONS, Abilities, course
from tests.fidelity.recorder.tools import EXIT
from tests.fidelity.recorder.wire import ZooKeeper, metadata, metadata_version, offsets

RELEASES: Final = [((0, 8, 2, 2), True), ((0, 11, 0, 3), True), ((2, 7, 2), True), ((4, 2, 0), False)]


# --- courses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("release", "zookeeper"), RELEASES)
@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5, 42])
def test_every_act_of_a_course_is_possible(release: tuple[int, ...], zookeeper: bool, seed: int) -> None:
    abilities = Abilities.of(release, zookeeper=zookeeper)
    state = dict.fromkeys(BROKERS, "up")
    needed = {"kill": ("up", "paused"), "stop": ("up",), "pause": ("up",), "cont": ("paused",), "start": ("dead",)}
    then = {"kill": "dead", "stop": "dead", "pause": "paused", "cont": "up", "start": "up"}
    acts = course(seed, abilities)
    for act in acts:
        op = act["op"]
        assert op != "controller" or abilities.controller
        assert op != "delete" or abilities.deletes_records
        assert act.get("kind") != "unclean" or abilities.unclean_election
        if op in needed:
            assert state[act["broker"]] in needed[op]
            state[act["broker"]] = then[op]
        if op == "reassign" and not abilities.any_target:
            assert all(state[broker] == "up" for broker in act["replicas"])
        assert "up" in state.values()
    assert set(state.values()) == {"up"}
    assert [tp for tp, _, _ in acts[0]["what"]] == [tp for tp, _, _ in acts[-1]["what"]] == list(PARTITIONS)


def test_a_seed_always_gives_the_same_course() -> None:
    abilities = Abilities.of((4, 2, 0), zookeeper=False)
    assert course(7, abilities) == course(7, abilities) != course(11, abilities)


# --- disks and texts -------------------------------------------------------------------------------------------------


def test_end_offset_of_single_messages_and_of_batches(tmp_path: Path) -> None:
    messages = b"".join(struct.pack(">qiIbb", offset, 6, 0, 1, 0) for offset in (5, 6))
    old = tmp_path / "00000000000000000005.log"
    old.write_bytes(messages + bytes(40))
    assert _end_offset(old) == 7
    batch = struct.pack(">qiibIhi", 7, 49, 0, 2, 0, 0, 3) + bytes(34)
    new = tmp_path / "00000000000000000007.log"
    new.write_bytes(batch + bytes(100))
    assert _end_offset(new) == 11
    empty = tmp_path / "00000000000000000011.log"
    empty.write_bytes(b"")
    assert _end_offset(empty) == 11


def test_a_release_without_leader_epochs_has_no_entries(tmp_path: Path) -> None:
    assert _epochs(tmp_path) is None
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 17\n")
    assert _epochs(tmp_path) == [[0, 0], [3, 17]]


def test_the_end_of_a_tool_is_no_output() -> None:
    row = "\tTopic: t-a\tPartition: 0\n"
    trace = "\tat Driver$1.checkExit(Driver.java:70)\n\tat java.base/java.lang.Runtime.exit(Runtime.java:113)\n"
    assert EXIT.sub("", f"{row}exit 0\nDriver$Exited: exit 0\n{trace}\n") == row
    assert EXIT.sub("", f"{row}Error while executing topic command : exit 0\nDriver$Exited: exit 0\n{trace}") == row


# --- requests --------------------------------------------------------------------------------------------------------


def answering(*responses: bytes) -> int:
    """Return a port on loopback that answers each request with the next of the responses."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        for response in responses:
            (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
            connection.recv(size, socket.MSG_WAITALL)
            connection.sendall(struct.pack(">i", len(response)) + response)
        server.close()

    threading.Thread(target=serve, daemon=True).start()
    return int(server.getsockname()[1])


def string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def test_metadata_of_old_and_new_releases() -> None:
    assert [metadata_version(release) for release in ((0, 9, 0, 1), (0, 11, 0, 3), (2, 0, 1), (2, 1, 1), (3, 3, 2))] == [0, 1, 5, 7, 9]
    broker = struct.pack(">ii", 1, 4) + string("h") + struct.pack(">ih", 9092, -1)
    part = struct.pack(">hii", 0, 0, 4) + struct.pack(">iii", 2, 4, 2) + struct.pack(">ii", 1, 4)
    old = (
        struct.pack(">i", 7) + broker + struct.pack(">i", 3) + struct.pack(">ih", 1, 0) + string("a") + b"\0" + struct.pack(">i", 1) + part
    )
    state = {"err": 0, "leader": 4, "epoch": -1, "replicas": [4, 2], "isr": [4], "elr": [], "lkelr": [], "offline": []}
    assert metadata(answering(old), ["a"], 1) == (3, [4], {"a-0": state})
    brokers = b"\x02" + struct.pack(">i", 4) + b"\x02h" + struct.pack(">i", 9092) + b"\0\0"
    row = (
        struct.pack(">hiii", 0, 0, 4, 6)
        + b"\x03"
        + struct.pack(">ii", 4, 2)
        + b"\x02"
        + struct.pack(">i", 4)
        + b"\x02"
        + struct.pack(">i", 2)
        + b"\0"
    )
    topic = struct.pack(">h", 0) + b"\x02a\0" + b"\x02" + row + struct.pack(">i", 0) + b"\0"
    new = (
        struct.pack(">i", 7)
        + b"\0"
        + struct.pack(">i", 0)
        + brokers
        + b"\0"
        + struct.pack(">i", 3)
        + b"\x02"
        + topic
        + struct.pack(">i", 0)
        + b"\0"
    )
    assert metadata(answering(new), ["a"], 9) == (3, [4], {"a-0": {**state, "epoch": 6, "offline": [2]}})


def test_offsets_and_refusals() -> None:
    rows = struct.pack(">ihqq", 0, 0, -1, 17) + struct.pack(">ihqq", 1, 6, -1, -1)
    response = struct.pack(">ii", 7, 1) + string("a") + struct.pack(">i", 2) + rows
    assert offsets(answering(response), ["a-0", "a-1"], -1) == {"a-0": "17", "a-1": "error 6"}


def test_a_partition_state_in_zookeeper() -> None:
    names = struct.pack(">iqi", 1, 0, 0) + struct.pack(">ii", 1, 1) + b"0"
    text = b'{"leader":2,"isr":[2,3]}'
    stat = struct.pack(">qqqq", 0, 0, 0, 0) + struct.pack(">iii", 5, 0, 0) + bytes(24)
    state = struct.pack(">iqi", 2, 0, 0) + struct.pack(">i", len(text)) + text + stat
    with ZooKeeper(answering(bytes(36), names, state)) as server:
        assert server.partition_states(["t"]) == {"t-0": {"leader": 2, "isr": [2, 3], "zversion": 5}}
