"""A coordinator answers as a broker of 4.1.1 did, request by request (drills-transactions: m-answers-tv0, m-answers-tv2).

A row is a request and its recorded answer. `init`, `add`, `end`, and `send` name producer epochs relative to the recorded producer ID;
`add` and `send` go to the partition of the broker itself, `add-far` and `send-far` to one whose markers are held between `pause` and `cont`.
"""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.release import RELEASES
from tests.core.kafka.transaction.coordinator_bench import CONCURRENT, FAR, FENCED, INVALID, CoordinatorBench

OUT_OF_ORDER = errors.OUT_OF_ORDER_SEQUENCE_NUMBER
STALE = errors.INVALID_PRODUCER_EPOCH

COMMIT, ABORT = True, False

TV0 = (
    ("init", None, 0),
    ("end", 0, COMMIT, INVALID), ("end", 0, ABORT, INVALID),
    ("init", 0, 1), ("init", 0, 1), ("init", 5, FENCED), ("init-other", 1, FENCED),
    ("add", 1, "NONE"), ("send", 1, 0, 0),
    ("end", 0, COMMIT, FENCED), ("end", 2, COMMIT, FENCED), ("end", 1, COMMIT, "NONE"),
    ("end", 1, COMMIT, "NONE"), ("end", 1, ABORT, INVALID),
    ("add", 1, "NONE"), ("send", 1, 1, 2), ("end", 1, ABORT, "NONE"),
    ("end", 1, ABORT, "NONE"), ("end", 1, COMMIT, INVALID),
    ("add", 1, "NONE"), ("send", 1, 2, 4), ("add-far", 1, "NONE"),
    ("pause",), ("end", 1, COMMIT, "NONE"),
    ("end", 1, COMMIT, CONCURRENT), ("end", 1, ABORT, CONCURRENT), ("init", None, CONCURRENT), ("init", 1, CONCURRENT),
    ("add", 1, CONCURRENT), ("send", 1, 3, errors.NOT_ENOUGH_REPLICAS),
    ("cont",),
    ("add", 1, "NONE"), ("send", 1, 3, 6),
    ("init", None, CONCURRENT), ("init", None, 3),
    ("add", 3, "NONE"), ("send", 3, 0, 8),
    ("init", 3, CONCURRENT), ("init", 3, FENCED),
    ("add", 4, "NONE"), ("send", 4, 0, 10), ("send", 4, 0, 10), ("send", 4, 2, OUT_OF_ORDER), ("send", 4, 1, 11),
    ("add", 3, FENCED), ("send", 3, 2, STALE),
    ("end", 4, ABORT, "NONE"),
)  # fmt: skip

TV2 = (
    ("init", None, 0),
    ("end", 0, COMMIT, INVALID), ("end", 0, ABORT, 1),
    ("init", 1, 2), ("init", 1, 2), ("init", 6, FENCED), ("init-other", 2, FENCED),
    ("send", 2, 0, 0),
    ("end", 1, COMMIT, FENCED), ("end", 3, COMMIT, FENCED), ("end", 2, COMMIT, 3),
    ("end", 2, COMMIT, 3), ("end", 2, ABORT, INVALID), ("end", 3, COMMIT, INVALID), ("end", 3, ABORT, 4),
    ("send", 4, 0, 2), ("end", 4, ABORT, 5),
    ("end", 4, ABORT, 5), ("end", 4, COMMIT, INVALID), ("end", 5, COMMIT, INVALID), ("end", 5, ABORT, 6),
    ("send", 6, 0, 4), ("add-far", 6, "NONE"),
    ("pause",), ("end", 6, COMMIT, 7),
    ("end", 6, COMMIT, CONCURRENT), ("end", 6, ABORT, CONCURRENT), ("end", 7, COMMIT, CONCURRENT), ("end", 7, ABORT, CONCURRENT),
    ("init", None, CONCURRENT), ("init", 7, CONCURRENT), ("send", 7, 0, CONCURRENT),
    ("cont",),
    ("send", 7, 0, 6),
    ("init", None, CONCURRENT), ("init", None, 9),
    ("send", 9, 0, 8),
    ("init", 9, CONCURRENT), ("init", 9, 10),
    ("send", 10, 0, 10), ("send", 10, 0, 10), ("send", 10, 2, OUT_OF_ORDER), ("send", 10, 1, 11),
    ("send", 9, 2, STALE),
    ("end", 10, ABORT, 11),
)  # fmt: skip


@pytest.mark.parametrize("release", ["4.0", "4.1", "4.3"])
@pytest.mark.parametrize(("version", "rows"), [(0, TV0), (2, TV2)], ids=["m-answers-tv0", "m-answers-tv2"])
def test_the_answers_are_those_of_the_recording(version: int, rows: tuple[tuple, ...], release: str) -> None:
    bench = CoordinatorBench(RELEASES[release], version)
    pid = 1_000
    held = 0
    for number, (op, *args) in enumerate(rows):
        row = (number, op, *args)
        match op:
            case "init" | "init-other":
                expected, result = args
                named = (-1, -1) if expected is None else (pid + 7 * (op == "init-other"), expected)
                answer = bench.init(*named)
                assert answer == (("NONE", pid, result) if isinstance(result, int) else (result, -1, -1)), row
            case "add":
                assert bench.add(pid, args[0]) == [args[1]], row
            case "add-far":
                assert bench.add(pid, args[0], FAR) == [args[1]], row
                held = 1
            case "send":
                epoch, sequence, result = args
                answer = bench.send(pid, epoch, sequence)
                if answer is None:
                    bench.settle(200)
                    answer = bench.sent_answer()
                assert answer == (("NONE", result) if isinstance(result, int) else (result, -1)), row
            case "end":
                epoch, commit, result = args
                error = "NONE" if isinstance(result, int) else result
                following = (pid, result) if isinstance(result, int) else (-1, -1)
                assert bench.end(pid, epoch, commit=commit) == (error, *following), row
            case "cont":
                assert len(bench.far_markers()) == held
                bench.answer_far()
    log = bench.data().log
    log.update_high_watermark(log.leo)
    assert log.last_stable_offset() == log.leo
