"""Recordings of transactions on real clusters: one JSON file for each drill, as `drills-transactions/README.md` describes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs

from core.kafka.features import TRANSACTION_VERSION
from core.kafka.release import Release
from tests.fidelity.recording import release_of

STATE_TOPIC: Final = "__transaction_state"
"""The topic whose leaders are the coordinators."""

OBSERVED: Final = ("offsets", "producers", "read_committed", "read_uncommitted")
"""The observations that are recorded by partition."""


@attrs.frozen
class TransactionAct:
    """An action on the cluster or of a client.

    Attributes:
        number: the position in the recording.
        op: the action, such as `p.send`; words: its arguments.
        at, done: the start and the end of the act, in seconds since the drill began.
        result: the response; None if the recording has none.
        seen: the observations after the act, each as a mapping that the README describes.
    """

    number: int
    op: str
    words: tuple[str, ...]
    at: float
    done: float
    result: Any
    seen: tuple[dict[str, Any], ...]


@attrs.frozen
class TransactionRecording:
    """A drill.

    Attributes:
        name: the name of the drill.
        version: the Kafka version, such as 4.1.1.
        settings: the special settings, in words; notes: remarks.
        acts: the acts, in the order of their numbers.
    """

    name: str
    version: str
    settings: dict[str, Any]
    notes: tuple[str, ...]
    acts: tuple[TransactionAct, ...]

    @property
    def release(self) -> Release:
        """The newest profile that is not newer than the version."""
        return release_of(self.version)

    @property
    def features(self) -> tuple[tuple[str, int], ...]:
        """The feature levels that differ from those of a new cluster."""
        return ((TRANSACTION_VERSION, 0),) if "tv0" in self.name or self.name == "p-expiry" else ()

    @property
    def partitions(self) -> tuple[str, ...]:
        """The names of the data partitions, in alphabetical order."""
        asked = {word for act in self.acts if act.op.startswith(("raw Add", "raw Produce", "p.send")) for word in act.words}
        return tuple(sorted(self._observed() | {word for word in asked if re.fullmatch(r"[a-z]\w*-\d+", word)}))

    @property
    def deletes_a_topic(self) -> bool:
        """Whether a topic is deleted."""
        return any(act.op == "delete topic" for act in self.acts)

    def _observed(self) -> set[str]:
        return {name for look in self.looks() for kind in OBSERVED for name in look.get(kind, ())}

    def looks(self) -> Iterator[dict[str, Any]]:
        """Return everything that was observed, in order."""
        for act in self.acts:
            yield from act.seen

    def replicas_of(self, name: str) -> tuple[int, ...]:
        """Return the brokers of a data partition, starting with the first leader."""
        topic = name.rpartition("-")[0]
        text = str(self.settings.get(topic, ""))
        if found := re.search(r"RF \d on b?([\d,]+)", text):
            return tuple(int(broker) for broker in found[1].rstrip(",").split(","))
        if (held := re.search(r"one replica on b(\d)", " ".join(self.notes))) and name not in self._observed():
            return (int(held[1]),)
        leader = self._first_leader(name)
        return (leader, *(broker for broker in (1, 2, 3) if broker != leader))

    def _first_leader(self, name: str) -> int:
        """Return the leader before the first broker died: the leader in the metadata, or the broker whose log has only one leader epoch."""
        for look in self.looks():
            for place, row in look.get("leaders", {}).items():
                if place == name and row["leader"] != "none" and look["t"] < self.first_kill:
                    return int(row["leader"])
            for place, batches in look.get("log", {}).items():
                where, _, broker = place.partition(" on b")
                if where == name and batches and all(batch["lepoch"] == 0 for batch in batches):
                    return int(broker)
        return next((int(act.words[0][1:]) for act in self.acts if act.op == "kill"), 1)

    @property
    def first_kill(self) -> float:
        """Return the time at which the first broker was killed, seconds."""
        return min((act.at for act in self.acts if act.op == "kill"), default=float("inf"))

    def coordinators(self) -> dict[str, int]:
        """Return the broker that coordinates each transactional.id at the start."""
        found: dict[str, int] = {}
        for look in self.looks():
            if look["t"] < self.first_kill:
                for row in described_rows(look):
                    found.setdefault(row["id"], row["coordinator"])
        return found

    def coordinator_epochs(self) -> dict[str, int]:
        """Return the epoch of the coordinator of each transactional.id at the start. It is not always 0, because earlier drills moved the
        leaders of the state partitions.
        """
        found: dict[str, int] = {}
        owners = self.owners()
        for look in self.looks():
            if look["t"] < self.first_kill:
                for record in (look.get("transaction_state") or {}).get("records", ()):
                    found.setdefault(record["id"], record["lepoch"])
                for rows in look.get("producers", {}).values():
                    for row in rows:
                        if isinstance(row, dict) and row["ce"] >= 0 and row["pid"] in owners:
                            found.setdefault(owners[row["pid"]], row["ce"])
        return found

    def owners(self) -> dict[int, str]:
        """Return the transactional.id of each producer ID."""
        return {row["pid"]: row["id"] for look in self.looks() for row in described_rows(look)}

    def timeouts(self) -> dict[str, int]:
        """Return transaction.timeout.ms of each transactional.id."""
        return {row["id"]: row["timeout"] for look in self.looks() for row in described_rows(look)}

    @property
    def is_compacted(self) -> bool:
        """Whether the data topic is compacted, so that records need keys."""
        return self.config.get("cleanup.policy") == "compact"

    @property
    def collects_records(self) -> bool:
        """Whether producers collect records in batches, whose sizes were recorded."""
        return "batch.size" in str(self.settings.get("client", ""))

    @property
    def config(self) -> dict[str, str]:
        """The settings of the topics."""
        text = " ".join(map(str, self.settings.values()))
        config = {"min.insync.replicas": max(re.findall(r"min ISR (\d)", text), default="1")}
        if "unclean election on" in text:
            config["unclean.leader.election.enable"] = "true"
        for name in ("segment.ms", "cleanup.policy", "min.cleanable.dirty.ratio", "delete.retention.ms"):
            if found := re.search(rf"{re.escape(name)} ([\w.]+)", text):
                config[name] = found[1]
        return config


def described_rows(look: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows that the tool showed for each transactional.id, without the IDs for which it failed."""
    rows = look.get("describe", ())
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def read_transactions(path: Path) -> TransactionRecording:
    """Read a recording from its file.

    Raises:
        ValueError: the file is not a recording. The message names the file.
    """
    try:
        raw = json.loads(path.read_text("utf-8"))
        acts = tuple(_act(act) for act in raw["acts"])
        if not acts:
            raise ValueError("there is no act")
        return TransactionRecording(raw["drill"], raw["release"], raw["settings"], tuple(raw["notes"]), acts)
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise ValueError(
            f"{path}: not a recording of transactions ({type(wrong).__name__}: {wrong}); see tests/fidelity/drills-transactions/README.md"
        ) from wrong


def _act(raw: dict[str, Any]) -> TransactionAct:
    words = tuple(raw["args"].split())
    return TransactionAct(raw["k"], raw["op"], words, raw["t"], raw["done"], raw.get("result"), tuple(raw.get("seen", ())))
