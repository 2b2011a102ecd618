"""Watches a running cluster: reads its metadata at an interval, and reconnects when it does not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import attrs

from core.kafka.events import EventTuple
from core.kafka.release import Release
from core.lab.spec import ClusterSpec
from scenarios.errors import InputError
from scenarios.live.network.cluster_client import ClusterClient
from scenarios.live.read_cluster import Metadata, read_metadata
from scenarios.live.unknowns import Unknowns
from scenarios.live.watcher import Watcher
from scenarios.logs.log_header import Header, Observation, make_header

LEAST_INTERVAL_US: Final = 200_000
"""The shortest interval between two readings, in µs."""

_US: Final = 1_000_000


def observed_header(spec: ClusterSpec, release: Release, servers: str, every_us: int, began: datetime | None = None) -> Header:
    """Return the header of the log of a watched cluster, with the cluster as it was when the watch began."""
    header = make_header(spec, release, 0, None)
    moment = (began or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
    header.observed = Observation(servers, moment, every_us)
    return header


@attrs.define
class Watch:
    """A watch over a cluster.

    Attributes:
        connect: opens connections to the cluster.
        watcher: records what is new.
        every_us: the interval between two readings, in µs.
        tell: gets a message when the cluster does not answer, when it answers again, and when something cannot be recorded.
        clock: the clock in seconds.
        wait: waits for some seconds, and returns whether the watch is to end.
        ended: the time of the end or, until then, of the last reading, in µs since the beginning.
    """

    connect: Callable[[], ClusterClient]
    watcher: Watcher
    every_us: int
    tell: Callable[[str], object]
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[float], bool] = attrs.field(factory=lambda: threading.Event().wait)
    ended: int = 0
    _client: ClusterClient | None = None
    _lost: bool = False
    _told: int = 0

    def run(self, for_us: int | None = None) -> None:
        """Watch until `wait` says that it is to end, or for a time in µs."""
        began = self.clock()
        turn = 0
        try:
            while True:
                self._read(began)
                self.ended = now = self._now(began)
                turn = max(turn + 1, now // self.every_us)  # readings that took longer than the interval are not made up for
                due = turn * self.every_us
                if for_us is not None and due > for_us:
                    self.ended = max(now, for_us)
                    return
                if self.wait(max(due - now, 0) / _US):
                    return
        finally:
            self._disconnect()

    def _now(self, began: float) -> int:
        return int((self.clock() - began) * _US)

    def _read(self, began: float) -> None:
        asked = self._now(began)
        try:
            if self._client is None:
                self._client = self.connect()
            self._client.renew()
            seen = read_metadata(self._client, Unknowns(self._client))
        except InputError as wrong:
            if not self._lost:
                self.tell(f"the cluster does not answer; isrlab goes on asking: {str(wrong).removeprefix('--bootstrap-server: ')}")
            self._lost = True
            self._disconnect()
            return
        if self._lost:
            self.tell("the cluster answers again")
            self._lost = False
        self._see(seen, asked, self._now(began))

    def _see(self, seen: Metadata, asked: int, now: int) -> None:
        self.watcher.see(seen, asked, now)
        strangers = self.watcher.left_out
        if len(strangers) > self._told:
            self._told = len(strangers)
            names = ", ".join(map(str, sorted(strangers)))
            self.tell(
                f"brokers that were added after the watch began are not recorded, and neither are their partitions: {names}; begin a new watch to see them"
            )

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def begin_watch(
    spec: ClusterSpec,
    *,
    kraft: bool,
    connect: Callable[[], ClusterClient],
    every_us: int,
    sink: Callable[[EventTuple], object],
    tell: Callable[[str], object],
) -> Watch:
    """Return a watch over a cluster, whose state at the beginning is in the header of its log."""
    known = frozenset(broker.id for broker in spec.brokers)
    up = frozenset(broker.id for broker in spec.brokers if broker.up)
    return Watch(connect, Watcher(known, kraft, up, sink), every_us, tell)
