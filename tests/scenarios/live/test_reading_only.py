"""Only requests that change nothing are sent, and not more of them per second than stated."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import scenarios.live.network
from scenarios.live.network.pacing import RequestRate
from scenarios.live.network.reading_apis import ALLOWED, Api, check

CHANGING = {
    0: "Produce", 1: "Fetch", 4: "LeaderAndIsr", 8: "OffsetCommit", 10: "FindCoordinator", 11: "JoinGroup", 13: "LeaveGroup", 14: "SyncGroup",
    19: "CreateTopics", 20: "DeleteTopics", 21: "DeleteRecords", 22: "InitProducerId", 24: "AddPartitionsToTxn", 26: "EndTxn",
    27: "WriteTxnMarkers", 30: "CreateAcls", 33: "AlterConfigs", 34: "AlterReplicaLogDirs", 37: "CreatePartitions", 42: "DeleteGroups",
    43: "ElectLeaders", 44: "IncrementalAlterConfigs", 45: "AlterPartitionReassignments", 47: "OffsetDelete", 57: "UpdateFeatures",
    64: "UnregisterBroker", 68: "ConsumerGroupHeartbeat",
}  # fmt: skip
"""APIs that change something, or, as FindCoordinator, can."""


def frame(key: int, version: int, body: bytes = b"") -> bytes:
    payload = key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\1" + b"\0\6isrlab" + body
    return len(payload).to_bytes(4, "big") + payload


def test_the_list_has_no_request_that_changes_something() -> None:
    assert not ALLOWED & CHANGING.keys()
    assert len(ALLOWED) == len(Api) == 19
    for key in [*CHANGING, -1, 32_767]:
        with pytest.raises(AssertionError, match="not on the list"):
            check(frame(key & 0xFFFF, 0))
    for api in Api:
        check(frame(api, 4))


def test_metadata_with_names_is_refused_where_it_can_create_topics() -> None:
    check(frame(Api.METADATA, 1, b"\xff\xff\xff\xff"))
    check(frame(Api.METADATA, 1, b"\0\0\0\0"))
    with pytest.raises(AssertionError, match="can create topics"):
        check(frame(Api.METADATA, 1, b"\0\0\0\1\0\1a"))


def test_bytes_are_sent_in_one_function_only_after_the_check() -> None:
    senders = []
    for path in sorted(Path(scenarios.live.__file__).parent.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef):
                calls = [
                    each.func.attr for each in ast.walk(function) if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
                ]
                senders += [(path.name, function.name) for call in calls if call in ("send", "sendall", "sendto", "sendmsg")]
                if function.name == "_send":
                    first = function.body[0]
                    assert isinstance(first, ast.Expr)
                    assert ast.unparse(first) == "check(frame)"
    assert senders == [("connection.py", "_send")]


def test_the_rate_of_requests_is_limited() -> None:
    now, pauses = [100.0], []

    def sleep(seconds: float) -> None:
        pauses.append(round(seconds, 6))
        now[0] += seconds

    rate = RequestRate(50, lambda: now[0], sleep)
    for _ in range(4):
        rate.wait()
    now[0] += 10
    rate.wait()
    rate.wait()
    assert pauses == [0.02, 0.02, 0.02, 0.02]
    assert rate.sent == 6
