"""Markers as bytes: BAT-08 (EndTransactionMarkerTest)."""

from __future__ import annotations

import pytest

from core.kafka.log.control_record import ABORT, COMMIT, EndTransactionMarker


@pytest.mark.parametrize("control_type", [ABORT, COMMIT])
def test_a_marker_is_read_as_it_was_written(control_type: int) -> None:
    marker = EndTransactionMarker(control_type, 5)
    assert (len(marker.key_bytes()), len(marker.value_bytes())) == (4, 6)
    assert EndTransactionMarker.parse(marker.key_bytes(), marker.value_bytes()) == marker


def test_bat_08_a_newer_version_may_have_more_bytes() -> None:
    """BAT-08: value version 5 with extra bytes is read as the coordinator epoch."""
    key = EndTransactionMarker(COMMIT, 0).key_bytes()
    value = (5).to_bytes(2) + (17).to_bytes(4) + b"more"
    assert EndTransactionMarker.parse(key, value) == EndTransactionMarker(COMMIT, 17)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("00000001", "ffff00000000"),
        ("ffff0001", "000000000000"),
        ("00000001", "0000000000"),
        ("000001", "000000000000"),
        ("00000002", "000000000000"),
        ("0000ffff", "000000000000"),
    ],
    ids=["negative-value-version", "negative-key-version", "short-value", "short-key", "leader-change", "unknown-type"],
)
def test_bat_08_anything_else_is_an_error(key: str, value: str) -> None:
    """BAT-08: a negative version, too few bytes, and an unknown type."""
    with pytest.raises(ValueError):
        EndTransactionMarker.parse(bytes.fromhex(key), bytes.fromhex(value))
