"""The consumers of a recording, which have their partitions by hand, and the committed offsets of their groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from core.kafka.errors import NONE
from core.kafka.group_coordinator.group_requests import NOT_A_MEMBER, OffsetCommitRequest, OffsetFetchRequest
from core.kafka.ids import TopicPartition
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, partition_for
from core.lab.cluster import Cluster
from core.sim.units import US_PER_MS
from tests.fidelity.transactions.raw_client import RawClient

OFFSETS_PARTITIONS: Final = 5
"""offsets.topic.num.partitions of the recordings."""

PATIENCE: Final = 5_000 * US_PER_MS
"""The maximum time for which an answer of a group coordinator is waited for, in µs."""


class Reader(NamedTuple):
    """A consumer: its group, its isolation level, and the recorded name of its partition."""

    group: str
    isolation: str
    partition: str


class Playing(Protocol):
    """What the consumers need from the player."""

    cluster: Cluster
    raw: RawClient

    def partition(self, name: str, /) -> TopicPartition:
        """Return the model's partition for a recorded one."""


class GroupClients:
    """The consumers of a recording.

    Attributes:
        player: the player of the recording.
        readers: the consumers by name.
    """

    def __init__(self, player: Playing) -> None:
        self.player = player
        self.readers: dict[str, Reader] = {}

    def new(self, words: tuple[str, ...]) -> str:
        """Create a consumer: `c gh read_committed =hi-0`."""
        name, group, isolation, partition = words[:4]
        self.readers[name] = Reader(group, isolation, partition.removeprefix("="))
        return "ok"

    def poll(self, name: str, read: Callable[[str], dict[str, tuple[list[int], int]]]) -> str:
        """Return what a consumer reads from its committed offset on. `read` reads everything under an isolation level."""
        group, isolation, partition = self.readers[name]
        committed, error = self._committed(group, partition, require_stable=True)
        if error != NONE:  # Kafka's consumer requires a stable offset under each isolation level
            return f"records | position {partition}:TimeoutException"
        offsets, position = read(isolation)[partition]
        found = " ".join(f"{partition}@{offset}" for offset in offsets if offset >= committed)
        return f"records {found} | position {partition}:{position}"

    def commit(self, words: tuple[str, ...]) -> str:
        """Commit an offset outside of a transaction: `y hi-0=6`."""
        partition, offset = words[1].split("=")
        group = self.readers[words[0]].group
        request = OffsetCommitRequest(
            self.player.raw.next_number(), words[0], group, NOT_A_MEMBER, ((self.player.partition(partition), int(offset), -1),)
        )
        answer = self._ask(group, request)
        return "ok" if answer.error == NONE else f"EXC {answer.error}"

    def committed(self, group: str, partitions: tuple[str, ...]) -> list[str]:
        """Return the committed offsets of a group as the recordings show them: without and with requireStable."""
        shown = []
        for word, stable in (("plain", False), ("stable", True)):
            found = [(name, *self._committed(group, name, require_stable=stable)) for name in partitions]
            shown.append(f"{word} {{{', '.join(f'{name}={offset}' for name, offset, error in found if error == NONE and offset >= 0)}}}")
        return shown

    def _committed(self, group: str, partition: str, *, require_stable: bool) -> tuple[int, str]:
        number = self.player.raw.next_number()
        answer = self._ask(group, OffsetFetchRequest(number, group, (self.player.partition(partition),), require_stable))
        if answer.error != NONE or not answer.offsets:
            return -1, answer.error
        _, offset, _, error = answer.offsets[0]
        return offset, error

    def _ask(self, group: str, request: Any) -> Any:
        cluster, raw = self.player.cluster, self.player.raw
        tp = TopicPartition(GROUP_METADATA_TOPIC, partition_for(group, OFFSETS_PARTITIONS))
        raw.ask(cluster.partition_view(tp).leader, request)
        end = cluster.now + PATIENCE
        while not raw.answers and cluster.now < end:
            cluster.run_until(cluster.now + US_PER_MS)
        assert raw.answers, f"the coordinator of {group} did not answer"
        return raw.answers[0]
