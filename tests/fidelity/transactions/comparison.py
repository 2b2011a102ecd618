"""Compares the model with a recording of transactions, value by value.

Before producer IDs are compared, each recorded ID is replaced with the ID of the model that first took its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import attrs

from core.kafka.errors import COORDINATOR_LOAD_IN_PROGRESS, INVALID_PRODUCER_ID_MAPPING, REQUEST_TIMED_OUT
from core.kafka.ids import NO_LEADER
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC
from core.sim.units import SECOND
from tests.fidelity.comparison import Best, Comparison, best_of
from tests.fidelity.transactions import observing
from tests.fidelity.transactions.explained import TRANSACTIONS_EXPLAINED
from tests.fidelity.transactions.player import Player
from tests.fidelity.transactions.producer_ids import ProducerIds
from tests.fidelity.transactions.recording import TransactionAct, TransactionRecording, described_rows

ANSWERS: Final = "answers"
OFFSETS: Final = "HW, LSO, log start"
STATES: Final = "coordinator states"
PRODUCERS: Final = "producers"
STATE_RECORDS: Final = "stored states"
LOGS: Final = "logs"
READS: Final = "reads"
LEADERS: Final = "leaders, ISRs"
INDEX: Final = "transaction index"
GROUPS: Final = "committed offsets"
SEGMENTS: Final = "segments"
SIZES: Final = "batch sizes"

TRANSACTION_MEASURES: Final = (ANSWERS, OFFSETS, STATES, PRODUCERS, STATE_RECORDS, LOGS, READS, LEADERS, INDEX, GROUPS, SEGMENTS, SIZES)
"""The compared measures, in the order of the table."""


PHASES: Final = 12
"""The number of phases of the timers that are tried for a recording."""


BUSY: Final = {"p.commit": "COMMITTING_TRANSACTION", "p.abort": "ABORTING_TRANSACTION"}
"""The state in which the thread of a producer can still be when a call returns."""

MOMENT: Final = SECOND
"""The time in µs around an observation within which its requests were answered. An observation is several requests, one after the other, and
request times varied by a factor of ten."""


@attrs.define
class Comparer:
    """A comparison of one recording with the model while the recording is played.

    Attributes:
        recording: the recording.
        player: the model.
        looked: the number of state records of each ID that have been compared.
        history: the offsets of each partition and the coordinator's state of each ID, each with the time at which the model got there, in µs.
    """

    recording: TransactionRecording
    player: Player
    looked: dict[str, int] = attrs.field(factory=dict)
    history: dict[str, list[tuple[int, Any]]] = attrs.field(factory=dict)

    def run(self) -> Iterator[Comparison]:
        """Play every act, and compare its results."""
        self.player.happened = self._note
        for number, act in enumerate(self.recording.acts):
            where = f"{self.recording.name} act {act.number}"
            answer = self.player.play(act)
            if isinstance(answer, list) and act.op == "raw InitProducerId" and act.result[0] == COORDINATOR_LOAD_IN_PROGRESS:
                pass  # whether a broker has a block of producer IDs left depends on earlier drills
            elif isinstance(answer, list):
                yield Comparison(ANSWERS, where, self._raw(act.result, answer), answer[: len(act.result)])
            elif answer is not None and act.result is not None:
                yield self._answer(where, act, answer)
            following = self.recording.acts[number + 1].at if number + 1 < len(self.recording.acts) else None
            for look in act.seen:
                self.player.run_to(look["t"])
                found = list(self._look(where if look is act.seen[0] else f"{where} at {look['t']}", look))
                yield from self._around(found, None if following is None else self.player.due(following))

    def _note(self) -> None:
        now = self.player.cluster.now
        exists = self.player.cluster.controller.registry.partitions
        states = {name: observing.offsets(self.player, name) for name in self.recording.partitions if self.player.partition(name) in exists}
        states |= {each: observing.described(self.player, each) for each in self.recording.coordinators()}
        for name, state in states.items():
            known = self.history.setdefault(name, [])
            if not known or known[-1][1] != state:
                known.append((now, state))

    def _around(self, found: list[Comparison], following: int | None) -> Iterator[Comparison]:
        """Return the comparisons of an observation. Offsets and coordinator states also agree if the model had the recorded value within
        `MOMENT` of the observation and before the following act; such an agreement depends on a race."""
        now = self.player.cluster.now
        if any(one.measure in (OFFSETS, STATES) and not one.agrees for one in found):
            self.player.advance(now + MOMENT if following is None else min(now + MOMENT, following))
        for one in found:
            if one.measure in (OFFSETS, STATES) and not one.agrees:
                history = self.history.get(one.where.rpartition(" ")[2], [])
                begun = [at for at, _ in history if at <= now - MOMENT]
                values = [state for at, state in history if at >= (begun[-1] if begun else 0)]
                if one.recorded in values:
                    yield attrs.evolve(one, model=one.recorded, race=True)
                    continue
            yield one

    @property
    def ids(self) -> ProducerIds:
        """The producer IDs of the model that stand for the recorded ones."""
        return self.player.ids

    # --- answers ---------------------------------------------------------------------------------------------------

    def _answer(self, where: str, act: TransactionAct, answer: str) -> Comparison:
        text = act.result if isinstance(act.result, str) else act.result[0]
        op = act.op.partition(" (")[0]
        if op == "kafka-features":
            # The epoch that the tool shows counts all metadata records of the cluster.
            return Comparison(ANSWERS, where, re.sub(r".*(FinalizedVersionLevel: \d+).*", r"\1", text), answer)
        if op == "c.poll":
            return Comparison(ANSWERS, where, " ".join(re.sub(r"(@\d+)=\S*", r"\1", text).split()), " ".join(answer.split()))
        if op == "delete records":
            return Comparison(ANSWERS, where, text.partition("\t")[2], answer)
        if op == "wait":
            # The wait ended in Prepare or in Complete, as the markers were written before or after the tool looked.
            return Comparison(ANSWERS, where, re.sub("Prepare|Complete", "", text), re.sub("Prepare|Complete", "", answer))
        if text.startswith("EXC "):
            return Comparison(ANSWERS, where, error_of(text), answer.split()[1] if answer.startswith("EXC ") else answer)
        if text == "ok":
            return Comparison(ANSWERS, where, "ok", answer if answer.startswith("EXC ") else "ok")
        if text.startswith("state="):
            if op in BUSY and f"state={BUSY[op]} " in text:
                # The application read the state before the thread of the producer had moved on from it.
                moved_on = answer.replace("state=READY ", f"state={BUSY[op]} ")
                return Comparison(ANSWERS, where, self._state(text, moved_on), self._state(moved_on, moved_on, model=True), race=True)
            return Comparison(ANSWERS, where, self._state(text, answer), self._state(answer, answer, model=True, only=op == "p.state"))
        return Comparison(ANSWERS, where, text, answer)

    def _raw(self, recorded: list[Any], answer: list[Any]) -> list[Any]:
        """Return a recorded response with the model's producer IDs: [error, producer ID, epoch]."""
        if len(recorded) < 3:
            return recorded
        return [recorded[0], self.ids.in_the_model(recorded[1], answer[1]), recorded[2]]

    def _state(self, text: str, answer: str, *, model: bool = False, only: bool = False) -> Any:
        if model and text.startswith("EXC ") and not only:
            return text
        pattern = r"state=(\w+) pid=(-?\d+) epoch=(-?\d+)"
        found, candidate = re.search(pattern, text), re.search(pattern, answer)
        if found is None:
            return text
        pid = int(found[2])
        if not model and candidate is not None:
            pid = self.ids.in_the_model(pid, int(candidate[2]))
        return found[1], pid, int(found[3])

    # --- what was seen ---------------------------------------------------------------------------------------------

    def _look(self, where: str, look: dict[str, Any]) -> Iterator[Comparison]:
        for name, row in look.get("offsets", {}).items():
            if all(isinstance(value, int) for value in row.values()):
                yield Comparison(OFFSETS, f"{where} {name}", row, observing.offsets(self.player, name))
        for row in described_rows(look):
            yield self._described(where, row)
        for name, rows in look.get("producers", {}).items():
            if isinstance(rows, list):
                yield self._producers(f"{where} {name}", rows, observing.producers(self.player, name))
        for isolation in ("read_committed", "read_uncommitted"):
            if isinstance(look.get(isolation), dict):
                yield from self._reads(f"{where} {isolation}", look[isolation], observing.read(self.player, isolation))
        for place, batches in look.get("log", {}).items():
            name, _, broker = place.partition(" on b")
            if isinstance(batches, list) and name in self.recording.partitions:
                yield self._log(f"{where} {place}", batches, observing.log_records(self.player, name, int(broker)))
                if self.recording.collects_records:
                    yield self._sizes(f"{where} {place}", name, batches)
        if isinstance(look.get("transaction_state"), dict):
            yield from self._state_records(where, look["transaction_state"]["records"])
        for place, row in look.get("leaders", {}).items():
            if not place.startswith("__"):
                yield self._leader(f"{where} {place}", place, row)
        yield from self._index(where, look.get("txnindex", {}))
        for group, shown in look.get("groups", {}).items():
            yield Comparison(GROUPS, f"{where} {group}", shown, self.player.groups.committed(group, self.recording.partitions))
        for broker, files in look.get("segments", {}).items():
            if broker.isdecimal() and self.recording.is_compacted:
                yield self._segments(where, int(broker), files)
        if "group_log" in look:
            yield self._group_log(where, look["group_log"])

    def _described(self, where: str, row: dict[str, Any]) -> Comparison:
        model = observing.described(self.player, row["id"])
        recorded = {
            "pid": self.ids.in_the_model(row["pid"], -1 if model is None else model["pid"]),
            "epoch": row["epoch"],
            "state": row["state"],
            "timeout": row["timeout"],
            "parts": set(row["parts"]),
        }
        return Comparison(STATES, f"{where} {row['id']}", recorded, model)

    def _producers(self, where: str, rows: list[dict[str, Any]], model: list[dict[str, Any]]) -> Comparison:
        owners, epochs = self.recording.owners(), self.recording.coordinator_epochs()
        unknown = [row["pid"] for row in rows if row["pid"] not in owners and row["pid"] not in self.ids.models]
        free = [row["pid"] for row in model if row["pid"] not in self.ids.models.values() and row["pid"] not in map(self.ids.known, owners)]
        if len(unknown) == len(free) == 1:  # a producer without a transactional.id
            self.ids.in_the_model(unknown[0], free[0])
        # The epoch of a coordinator is that of its log: earlier drills raised it, and the recording does not always show it.
        exact = all(owners.get(row["pid"], "") in epochs for row in rows)

        def shown(row: dict[str, Any], pid: int) -> tuple[int, ...]:
            ce = row["ce"] if exact else min(row["ce"], 0)
            return pid, row["epoch"], ce, row["lastSeq"], -1 if row["openFrom"] is None else row["openFrom"]

        return Comparison(
            PRODUCERS,
            where,
            sorted(shown(row, self.ids.known(row["pid"])) for row in rows),
            sorted(shown(row, row["pid"]) for row in model),
        )

    def _reads(self, where: str, rows: dict[str, Any], model: dict[str, tuple[list[int], int]]) -> Iterator[Comparison]:
        for name, row in rows.items():
            if isinstance(row, dict) and isinstance(row.get("position"), int):
                offsets = [int(record.partition("=")[0]) for record in row["records"]]
                yield Comparison(READS, f"{where} {name}", (offsets, row["position"]), model[name])

    def _log(self, where: str, batches: list[dict[str, Any]], model: list[tuple[Any, ...]]) -> Comparison:
        recorded = [record for batch in batches for record in self._batch(batch)]
        return Comparison(LOGS, where, recorded, model)

    def _sizes(self, where: str, name: str, batches: list[dict[str, Any]]) -> Comparison:
        """Compare the number of records in each batch, and the sizes of batches without compression. How well a codec compresses is an input
        of the model.

        No act makes a record that has neither a key nor a value, so the sizes of such batches are left out, too.
        """
        unsized = {
            int(act.result.split()[2])
            for act in self.recording.acts
            if act.op == "p.send" and act.words[1] == name and act.words[3] == "<null>"
        }
        unsized |= {batch["base"] for batch in batches if "codec" in batch}
        recorded = [(batch["base"], batch["n"], 0 if batch["base"] in unsized else batch["size"]) for batch in batches]
        model = [(base, n, 0 if base in unsized else size) for base, n, size in observing.completed_batches(self.player, name)]
        return Comparison(SIZES, where, recorded, model)

    def _segments(self, where: str, broker: int, files: dict[str, list[dict[str, Any]]]) -> Comparison:
        """Compare the batches in each segment of a compacted log, each with whether it carries a delete horizon."""
        name = self.recording.partitions[0]
        recorded = {int(file.partition(".")[0]): [(each["base"], "horizon" in each) for each in batches] for file, batches in files.items()}
        return Comparison(SEGMENTS, f"{where} {name} on b{broker}", recorded, observing.segments(self.player, name, broker))

    def _group_log(self, where: str, log: dict[str, Any]) -> Comparison:
        """Compare a partition of `__consumer_offsets`: its batches, and the offsets that are committed in them."""
        name = f"{GROUP_METADATA_TOPIC}-{log['partition']}"
        leader = self.player.cluster.partition_view(self.player.partition(name)).leader
        recorded = [record for batch in log["batches"] for record in self._batch(batch)]
        return Comparison(LOGS, f"{where} {name}", recorded, observing.log_records(self.player, name, leader))

    def _batch(self, batch: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        """Return the single records of a batch. The number of batches into which a client puts its records does not count."""
        sequence = batch.get("seq", [-1, -1])[0]
        for offset in range(batch["base"], batch["last"] + 1):
            marker = batch["records"][0][1] if batch.get("control") else None
            place = -1 if sequence < 0 else sequence + offset - batch["base"]
            pid = self.ids.known(batch.get("pid", -1))
            yield offset, batch["lepoch"], pid, batch.get("epoch", -1), place, batch.get("txn", False), marker

    def _state_records(self, where: str, records: Sequence[dict[str, Any]]) -> Iterator[Comparison]:
        for transactional_id in sorted({record["id"] for record in records}):
            values = [record["value"] for record in records if record["id"] == transactional_id]
            recorded = [
                None if value == "<DELETE>" else self._state_record(value)
                for value in values
                if value == "<DELETE>" or value["updated"] >= 0  # earlier ones were written before the drill
            ]
            model = observing.state_records(self.player, transactional_id)
            first = self.looked.get(transactional_id, 0)
            if len(recorded) < len(values):
                first = len(model) - len(recorded)
            self.looked[transactional_id] = len(model)
            yield Comparison(STATE_RECORDS, f"{where} {transactional_id}", recorded, model[first:])

    def _state_record(self, value: dict[str, Any]) -> dict[str, Any]:
        return {
            "pid": self.ids.known(value["pid"]),
            "epoch": value["epoch"],
            "state": value["state"],
            "parts": set(value["parts"] or ()),
            "timeout": value["timeout"],
        }

    def _leader(self, where: str, name: str, row: dict[str, str]) -> Comparison:
        leader = NO_LEADER if row["leader"] == "none" else int(row["leader"])
        isr = {int(broker) for broker in row["isr"].split(",") if broker}
        model = self.player.cluster.partition_view(self.player.partition(name))
        return Comparison(LEADERS, where, (leader, isr), (model.leader, set(model.isr) if model.leader != NO_LEADER else set()))

    def _index(self, where: str, files: dict[str, Any]) -> Iterator[Comparison]:
        """Return the entries of all files. If the recording names no broker, they are those of the leader. The recording never names the
        partition, which is the first one.
        """
        if not files:
            return
        name = self.recording.partitions[0]
        leader = self.player.cluster.partition_view(self.player.partition(name)).leader
        by_broker = files if all(key.isdecimal() for key in files) else {str(leader): files}
        for broker, segments in by_broker.items():
            lines = [line for segment in sorted(segments) for line in segments[segment]]
            recorded = [tuple(map(int, re.findall(r"(?:Id|Offset): (\d+)", line))) for line in lines]
            mapped = [(self.ids.known(entry[0]), *entry[1:]) for entry in recorded]
            yield Comparison(INDEX, f"{where} {name} on b{broker}", mapped, observing.transaction_index(self.player, name, int(broker)))


def error_of(text: str) -> str:
    """Return the error of a recorded exception by its name in Kafka's protocol: the error of the cause, if there is one."""
    name = text.rpartition("<- ")[2].removeprefix("EXC ").partition(":")[0]
    if name == "TimeoutException" or "hasn't received acknowledgment for some previously sent messages" in text:
        return REQUEST_TIMED_OUT  # in the second case, a batch expired during a retry (`TransactionManager#maybeResolveSequences`)
    if name == "InvalidPidMappingException":
        return INVALID_PRODUCER_ID_MAPPING
    words = re.findall("[A-Z][a-z]+", name.removesuffix("Exception"))
    return "_".join(words).upper()


def compare_transactions(recording: TransactionRecording, seed: int = 0) -> list[Comparison]:
    """Compare every value of a recording with the value of the model."""
    return list(Comparer(recording, Player(recording, seed)).run())


def best_comparison(recording: TransactionRecording) -> Best:
    """Return the replay that agrees best. The phases of heartbeats and timers are not recorded, so several are tried."""
    return best_of([partial(compare_transactions, recording, seed) for seed in range(PHASES)], TRANSACTIONS_EXPLAINED)
