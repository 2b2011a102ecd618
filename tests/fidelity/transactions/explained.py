"""The single values in which the model differs from the recordings of transactions, by `measure: where`."""

from __future__ import annotations

from typing import Final

TRANSACTIONS_EXPLAINED: Final = {
    **dict.fromkeys(
        ("answers: c-commit-timeout act 13", "HW, LSO, log start: c-commit-timeout act 14 ct-0"),
        "since 3.2, send() appends its record before it checks the state of the transaction (KafkaProducer#doSend): the record of the send() "
        "that failed in act 8 was written in the next transaction. In the model, an act that is refused has no effect",
    ),
}
"""The reason for each difference that the recording explains."""

DIFFERENT: Final[dict[str, str]] = {}
"""The recordings from which the model is known to differ, each with the reason."""
