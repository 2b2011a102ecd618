"""The coordinating node: it sends its clients' writes to the primary, and tries again when the primary changes
(`TransportReplicationAction.ReroutePhase`). The coordinating node continues even if the client has given up."""

from __future__ import annotations

from typing import Final

from core.models.client_messages import Refused, Row, Unclear, Write, Written
from core.models.elasticsearch.coordination import Coordination
from core.models.elasticsearch.elasticsearch_messages import PrimaryFailed, PrimaryRefused, PrimaryWrite, PrimaryWritten
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.server import Server


class CoordinatedWrite:
    """A client's write.

    Attributes:
        client, request: the client, and the number that the client gave to the write.
        primary: the primary that the write was sent to; empty while the write is waiting for the next cluster state.
        tried: whether the write has been sent to a primary before.
    """

    __slots__ = ("client", "primary", "request", "row", "tried")

    def __init__(self, client: str, request: int, row: Row) -> None:
        self.client = client
        self.request = request
        self.row = row
        self.primary = ""
        self.tried = False


class Requests:
    """The writes that a node coordinates.

    Attributes:
        writes: the writes without an outcome, by number.
        numbers: the number of writes that the node has coordinated so far.
    """

    __slots__ = ("_coordination", "_node", "_settings", "numbers", "writes")

    def __init__(self, node: Server, coordination: Coordination, settings: ElasticsearchSettings) -> None:
        self._node: Final = node
        self._coordination: Final = coordination
        self._settings: Final = settings
        self.writes: dict[int, CoordinatedWrite] = {}
        self.numbers = 0
        node.handlers.update(
            {Write: self._write, PrimaryWritten: self._written, PrimaryFailed: self._failed, PrimaryRefused: self._refused}
        )
        node.timers["no primary"] = self._no_primary

    def end(self) -> None:
        """Forget all writes, because the process is ending."""
        self.writes.clear()

    def _write(self, write: Write, client: str) -> None:
        self.numbers += 1
        self.writes[self.numbers] = CoordinatedWrite(client, write.request, write.row)
        self._route(self.numbers)

    def _route(self, number: int) -> None:
        """Send a write to the primary. If there is no primary, let the write wait for the next cluster state."""
        write = self.writes[number]
        primary = self._coordination.applied.primary
        if primary and primary not in self._coordination.closed:
            write.primary, write.tried = primary, True
            self._node.send(primary, PrimaryWrite(number, write.row))
        else:
            self._wait(number)

    def _wait(self, number: int) -> None:
        self.writes[number].primary = ""
        self._node.timer(self._settings.write_timeout, "no primary", number)

    def state_changed(self) -> None:
        """After a change in the cluster state, retry the waiting writes, and the writes whose primary is no longer part of the cluster."""
        nodes = self._coordination.applied.nodes
        for number, write in list(self.writes.items()):
            if write.primary not in nodes:
                self._route(number)

    def disconnected(self, node: str) -> None:
        """Handle the closing of the connection to a node. The writes that were sent to the disconnected node wait to be retried."""
        for number, write in list(self.writes.items()):
            if write.primary == node:
                self._wait(number)

    def _no_primary(self, number: int) -> None:
        """Handle a write that has waited too long for a primary."""
        write = self.writes.get(number)
        if write is None or write.primary:
            return
        if write.tried:
            self._node.reply(write.client, Unclear(write.request, "503: the primary did not answer, and there is no other"))
        else:
            del self.writes[number]
            self._node.reply(write.client, Refused(write.request, "503: there is no primary"))

    def _written(self, answer: PrimaryWritten, primary: str) -> None:
        write = self.writes.pop(answer.number, None)
        if write is not None:
            self._node.reply(write.client, Written(write.request))

    def _failed(self, answer: PrimaryFailed, primary: str) -> None:
        if answer.number in self.writes:
            self._wait(answer.number)
            if self._coordination.applied.primary not in ("", primary):
                self._route(answer.number)

    def _refused(self, answer: PrimaryRefused, primary: str) -> None:
        write = self.writes.pop(answer.number, None)
        if write is not None:
            self._node.reply(write.client, Refused(write.request, answer.reason))
