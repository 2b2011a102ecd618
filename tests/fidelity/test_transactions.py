"""Replays of all recordings of transactions: the model does what the real cluster did."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fidelity.comparison import Comparison
from tests.fidelity.table import Table
from tests.fidelity.transactions.comparison import TRANSACTION_MEASURES, best_comparison, compare_transactions, error_of
from tests.fidelity.transactions.explained import DIFFERENT, TRANSACTIONS_EXPLAINED
from tests.fidelity.transactions.recording import read_transactions

DRILLS: Final = sorted((Path(__file__).parent / "drills-transactions").glob("*.json"))

COMPARED: Final = 2_216
"""The minimum number of values in all recordings that are compared."""


@cache
def compared(file: Path) -> Sequence[Comparison]:
    """Return the comparisons of a recording with its replay."""
    return best_comparison(read_transactions(file)).comparisons


@pytest.mark.parametrize("file", DRILLS, ids=lambda file: file.stem)
def test_the_model_does_what_the_real_cluster_did(file: Path) -> None:
    differing, name = {one.name for one in compared(file) if not one.agrees}, read_transactions(file).name
    explained = {value for value in TRANSACTIONS_EXPLAINED if f": {name} " in value}
    if name in DIFFERENT:
        assert differing - explained
    else:
        assert differing == explained


def test_everything_is_compared() -> None:
    table = Table()
    for file in DRILLS:
        table.add("all", compared(file))
    assert {measure for _, measure in table.counts} == set(TRANSACTION_MEASURES)
    assert table.total().compared >= COMPARED


def _look(raw: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the last observation of a kind."""
    return [look for act in raw["acts"] for look in act.get("seen", ()) if kind in look][-1]


def _change_answer(raw: dict[str, Any]) -> None:
    raw["acts"][5]["result"] = "ok aa-0 0,1,3"


def _change_offsets(raw: dict[str, Any]) -> None:
    _look(raw, "offsets")["offsets"]["aa-0"]["lso"] += 1


def _change_state(raw: dict[str, Any]) -> None:
    _look(raw, "describe")["describe"][0]["epoch"] += 1


def _change_producers(raw: dict[str, Any]) -> None:
    _look(raw, "producers")["producers"]["aa-0"][0]["lastSeq"] += 1


def _change_stored(raw: dict[str, Any]) -> None:
    _look(raw, "transaction_state")["transaction_state"]["records"].pop()


def _change_log(raw: dict[str, Any]) -> None:
    _look(raw, "log")["log"]["aa-0 on b1"][-1]["records"][0][1] = "ABORT"


def _change_reads(raw: dict[str, Any]) -> None:
    _look(raw, "read_committed")["read_committed"]["aa-0"]["records"].pop()


@pytest.mark.parametrize(
    ("measure", "change"),
    [
        ("answers", _change_answer),
        ("HW, LSO, log start", _change_offsets),
        ("coordinator states", _change_state),
        ("producers", _change_producers),
        ("stored states", _change_stored),
        ("logs", _change_log),
        ("reads", _change_reads),
    ],
)
def test_a_changed_value_is_found(measure: str, change: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    raw = json.loads(DRILLS[0].read_text("utf-8"))
    change(raw)
    changed = tmp_path / DRILLS[0].name
    changed.write_text(json.dumps(raw), "utf-8")
    differing = {one.measure for one in compare_transactions(read_transactions(changed)) if not one.agrees}
    assert measure in differing


def test_what_is_no_recording_is_named(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{}", "utf-8")
    with pytest.raises(ValueError, match=r"wrong\.json: not a recording of transactions"):
        read_transactions(wrong)


def test_the_error_of_an_exception() -> None:
    assert (
        error_of("EXC InvalidTxnStateException: The producer attempted a transactional operation in an invalid state.")
        == "INVALID_TXN_STATE"
    )
    assert error_of("EXC KafkaException: in an error state <- ProducerFencedException: newer") == "PRODUCER_FENCED"


def test_a_setting_that_is_not_known_is_refused(tmp_path: Path) -> None:
    raw = json.loads(DRILLS[0].read_text("utf-8"))
    act = next(act for act in raw["acts"] if act["op"] == "p.new")
    act["args"] += " client.dns.lookup=use_all_dns_ips"
    changed = tmp_path / DRILLS[0].name
    changed.write_text(json.dumps(raw), "utf-8")
    with pytest.raises(ValueError, match=r"not known: client\.dns\.lookup"):
        compare_transactions(read_transactions(changed))
