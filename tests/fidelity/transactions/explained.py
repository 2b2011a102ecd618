"""The single values in which the model differs from the recordings of transactions, by `measure: where`."""

from __future__ import annotations

from typing import Final

TRANSACTIONS_EXPLAINED: Final = {
    "answers: p-expiry act 0": "the broker had no block of producer IDs yet; the player asks again until it has one",
    "answers: a-basic-tv2 act 3": "commitTransaction returned before the client's own thread had moved on to READY; the next call found it READY",
    **dict.fromkeys(
        (
            "coordinator states: b-zombie-tv2 act 14 tz2",
            "coordinator states: c-timeout-tv2-4.3.1 act 11 tt2",
            "coordinator states: x-epoch-exhausted-4.3.1 act 10 tmax",
        ),
        "the tool asked between the last marker (no partition is left) and the write of CompleteCommit",
    ),
    **dict.fromkeys(
        (
            "HW, LSO, log start: d-coordinator-killed-before-commit act 7 d-0",
            "HW, LSO, log start: d-coordinator-killed-before-commit act 7 d-1",
            "coordinator states: d-coordinator-killed-before-commit act 7 td2",
        ),
        "one observation is several requests: the request for the offsets came before the markers were written, the one for the state came after CompleteCommit",
    ),
    **dict.fromkeys(
        (
            "logs: d-markers-pending act 13 dh-0 on b2",
            "logs: d-markers-pending act 15 dh-0 on b2",
            "logs: m-answers-tv0 act 37 m0h-0 on b2",
        ),
        "after SIGCONT, the marker reached the broker before its own metadata did, so the broker appended it in its former leader epoch: its "
        "metadata fetch had timed out, so it ignored the response that was waiting in the socket, and fetched again (KafkaRaftClient), while its "
        "heartbeat unfenced it at once. In the model, a broker reads that response first, and applying metadata takes no time; with metadata that "
        "arrives 40 ms late, the model agrees",
    ),
    **dict.fromkeys(
        ("answers: c-commit-timeout act 13", "HW, LSO, log start: c-commit-timeout act 14 ct-0"),
        "since 3.2, send() appends its record before it checks the state of the transaction (KafkaProducer#doSend): the record of the send() "
        "that failed in act 8 was written in the next transaction. In the model, an act that is refused has no effect",
    ),
    "answers: d-markers-pending act 15": "the client gives its own reason, that it cannot retry anymore; the model names the error of the batch",
}
"""The reason for each difference that the recording explains."""

DIFFERENT: Final[dict[str, str]] = {}
"""The recordings from which the model is known to differ, each with the reason."""
