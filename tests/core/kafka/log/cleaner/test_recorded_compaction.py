"""The cleaner on a log of Kafka 4.1.1 whose segments were recorded after each pass: it produces the same batches, sizes, and delete
horizons.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from core.kafka.log.cleaner.cleanable_offsets import cleanable_offsets, log_to_clean
from core.kafka.log.cleaner.cleaner import clean, held_batches
from core.kafka.log.cleaner.offset_map import OffsetMap
from core.kafka.log.control_record import ABORT, COMMIT, EndTransactionMarker
from core.kafka.log.leader_term import Batch, Term
from core.kafka.log.log_config import LogConfig
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import Release
from core.sim.units import US_PER_MS

DRILLS: Final = Path(__file__).parents[4] / "fidelity" / "drills-transactions"
RECORDED: Final = json.loads((DRILLS / "k-compaction.json").read_text("utf-8"))
STAGES: Final[list[dict[str, Any]]] = [seen for act in RECORDED["acts"] for seen in act.get("seen", ())]
RELEASE: Final = Release.named("4.1")

SIZES: Final = {10: 78, 11: 69, 18: 78}
"""The sizes in bytes of markers, and of batches that were recorded only after a pass had set their delete horizons."""

PASSES: Final = (
    (5.0, 3.9), (9.181, 9.16), (11.262, 11.2), (16.448, 15.985), (18.0, 17.833), (24.0, 23.235), (30.0, 29.802), (43.0, 42.597), (50.0, 49.239),
)  # fmt: skip
"""The time of each pass according to the delete horizons, and the time until which records were appended before the pass, s."""


def batches() -> dict[int, Batch]:
    """Return the batches as they were written, by base offset."""
    found: dict[int, Batch] = {}
    for stage in STAGES:
        for each in (each for segment in stage["segments"]["1"].values() for each in segment):
            offset, key, value = each["records"][0]
            content = EndTransactionMarker(COMMIT if key == "COMMIT" else ABORT, 6) if "control" in each else ((key, value),)
            found.setdefault(
                offset,
                Batch(
                    offset, 1, SIZES.get(offset, each["size"]), "p", offset, round(each["ts"] * 1000) * US_PER_MS,
                    each["pid"], each["epoch"], each["seq"][0], "txn" in each, content,
                ),
            )  # fmt: skip
    return dict(sorted(found.items()))


def segments(log: ReplicaLog) -> list[tuple[int, int, int | None]]:
    """Return the base offset, size, and delete horizon (ms) of each batch."""
    return [
        (each.batch.base, each.batch.bytes, each.horizon // US_PER_MS if each.horizon >= 0 else None)
        for _, each in held_batches(log, 0, log.leo)
    ]


def recorded_segments(stage: dict[str, Any]) -> list[tuple[int, int, int | None]]:
    return [
        (each["base"], each["size"], round(each["horizon"] * 1000) if "horizon" in each else None)
        for segment in stage["segments"]["1"].values()
        for each in segment
    ]


def test_the_cleaner_leaves_what_kafka_left() -> None:
    log, term = ReplicaLog(), Term(0, 1)
    term.has_producer_ids = True
    log.configure(
        LogConfig(compact=True, delete=False, segment_us=1500 * US_PER_MS, min_cleanable_ratio=0.01, delete_retention_us=6_000_000)
    )
    coming = list(batches().values())
    stages = list(STAGES)
    checkpoint = None

    def append_until(time: float) -> None:
        while coming and coming[0].timestamp <= time * 1_000_000:
            log.append_as_leader(term, coming.pop(0))
        log.update_high_watermark(log.leo)

    def compare_until(time: float) -> None:
        while stages and stages[0]["t"] <= time:
            stage = stages.pop(0)
            append_until(stage["t"])
            assert segments(log) == recorded_segments(stage), stage["t"]
            assert log.last_stable_offset() == stage["offsets"]["k-0"]["lso"]
            index = [f"producerId: {each.producer_id} firstOffset: {each.first_offset}" for each in log.ensure_producer_state().aborted]
            assert len(index) == len(stage["txnindex"].get("00000000000000000000.txnindex", ()))
            assert [f"k 0 {checkpoint}"] == (stage["cleaner-offset-checkpoint"] or ["k 0 None"])

    for time, appended in PASSES:
        compare_until(time - 0.3)
        append_until(appended)
        now = round(time * 1000) * US_PER_MS
        offsets = cleanable_offsets(log, checkpoint, now, RELEASE)
        to_clean = log_to_clean(log, offsets, now)
        if to_clean.is_candidate:
            checkpoint = clean(to_clean, OffsetMap(1000), now, RELEASE).end
    compare_until(100)
    assert not stages
