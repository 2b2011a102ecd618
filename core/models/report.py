"""The counts of a run, which are defined in the same way for all models.

Lost writes, dirty reads, and divergence follow from a comparison of the clients' results with the final state. Call `counts` only after the
faults have ended and the system is idle.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import attrs

from core.models.account import FAIL, OK, UNKNOWN, Account, ReadRecord, WriteRecord
from core.models.client_messages import Row


@attrs.frozen
class Outage:
    """An interval without successful probes: from the invocation of the first failed probe to the completion of the next successful one.

    Attributes:
        start, end: the start and the end of the interval, in µs. If no later probe succeeds, the interval ends when the last probe ends.
    """

    start: int
    end: int

    @property
    def length(self) -> int:
        """The duration of the outage, in µs."""
        return self.end - self.start


@attrs.frozen
class Report:
    """The counts of a run. Probes affect only the outages, and are not part of the other counts.

    Attributes:
        acked, failed, unknown: the numbers of writes by outcome.
        lost: the acknowledged writes that are not in the final state.
        phantom: the refused writes that are in the final state.
        unknown_present, unknown_absent: the writes of unknown outcome that are in the final state, and those that are not.
        duplicates: the rows that are in the final state more than once, not counting the first copy of each.
        reads: the number of reads that returned a value.
        stale, own_broken, backward: the reads that were behind the acknowledged writes, behind the client's own writes, and behind an
            earlier read by the same client.
        stale_because_lost: the stale reads that missed only writes that are lost in the final state.
        stale_versions: the largest number of versions by which a read was behind.
        stale_us: the longest time between the acknowledgment of a version and a read that missed this version, in µs.
        unacknowledged: the reads that returned a row before its write was acknowledged.
        dirty: the reads that returned a row that is not in the final state.
        divergence: the number of places (offsets, sequence numbers, or GTIDs) at which a copy differs from the authoritative one, summed
            over the copies.
        write_outages, read_outages: the intervals without successful probes.
        latencies: the durations of acknowledged writes, sorted, in µs.
        bytes_sent: the number of bytes in the messages that servers received from each other (`Traffic`).
        lost_rows: the acknowledged rows that are lost.
        exposed: the highest number, at one moment, of acknowledged writes that were missing from every copy that could replace the primary
            (`Exposure`); 0 if this was not observed.
        exposed_us: the sum, over all writes, of the time for which each write was exposed, in µs.
        authority: the authoritative server. If there is no authoritative server, the data is not available, and nothing counts as lost or
            dirty.
    """

    acked: int
    failed: int
    unknown: int
    lost: int
    phantom: int
    unknown_present: int
    unknown_absent: int
    duplicates: int
    reads: int
    stale: int
    own_broken: int
    backward: int
    stale_because_lost: int
    stale_versions: int
    stale_us: int
    unacknowledged: int
    dirty: int
    divergence: int
    write_outages: tuple[Outage, ...]
    read_outages: tuple[Outage, ...]
    latencies: tuple[int, ...]
    bytes_sent: int
    lost_rows: tuple[Row, ...]
    authority: str
    exposed: int = 0
    exposed_us: int = 0

    @property
    def write_unavailable_us(self) -> int:
        """The total duration of all write outages, in µs."""
        return covered(self.write_outages)

    @property
    def read_unavailable_us(self) -> int:
        """The total duration of all read outages, in µs."""
        return covered(self.read_outages)

    def latency(self, share: float) -> int:
        """Return a percentile of the write latencies, in µs; 0 if no write was acknowledged."""
        return self.latencies[min(len(self.latencies) - 1, int(share * len(self.latencies)))] if self.latencies else 0


def counts(
    account: Account, authority: str, final: Sequence[Row], places: Mapping[object, Row], copies: Iterable[Mapping[object, Row]], bytes_sent: int,
) -> Report:  # fmt: skip
    """Count what happened to the clients' requests, given the final rows of the authoritative copy.

    Args:
        account: the clients' requests and how they ended.
        authority: the authoritative server; empty if there is none.
        final: the rows of the authoritative copy.
        places: the rows of the authoritative copy, by offset, sequence number, or GTID.
        copies: for every other live copy, its rows by offset, sequence number, or GTID.
        bytes_sent: the number of bytes in the messages that servers received from each other.
    """
    found = Counter(row.uid for row in final)
    writes = [each for each in account.writes if not each.probe]
    reads = [each for each in account.reads if not each.probe and each.outcome == OK]
    by_outcome = {outcome: [each for each in writes if each.outcome == outcome] for outcome in (OK, FAIL, UNKNOWN)}
    lost = [each.row for each in by_outcome[OK] if each.row.uid not in found and authority]
    present = sum(each.row.uid in found for each in by_outcome[UNKNOWN])
    stale = [each for each in reads if each.stale]
    return Report(
        acked=len(by_outcome[OK]),
        failed=len(by_outcome[FAIL]),
        unknown=len(by_outcome[UNKNOWN]),
        lost=len(lost),
        phantom=sum(each.row.uid in found for each in by_outcome[FAIL]),
        unknown_present=present,
        unknown_absent=len(by_outcome[UNKNOWN]) - present if authority else 0,
        duplicates=sum(count - 1 for count in found.values()),
        reads=len(reads),
        stale=len(stale),
        own_broken=sum(each.own_missing > 0 for each in reads),
        backward=sum(each.backward > 0 for each in reads),
        stale_because_lost=_because_lost(stale, lost, account),
        stale_versions=max((each.stale for each in stale), default=0),
        stale_us=max((each.stale_us for each in stale), default=0),
        unacknowledged=sum(each.unacknowledged for each in reads),
        dirty=sum(each.row.version > 0 and each.row.uid not in found for each in reads) if authority else 0,
        divergence=sum(differing(places, copy) for copy in copies),
        write_outages=outages([each for each in account.writes if each.probe]),
        read_outages=outages([each for each in account.reads if each.probe]),
        latencies=tuple(sorted(each.ended - each.invoked for each in by_outcome[OK])),
        bytes_sent=bytes_sent,
        lost_rows=tuple(lost),
        authority=authority,
    )


def differing(one: Mapping[object, Row], other: Mapping[object, Row]) -> int:
    """Return the number of places at which two copies differ, including places that only one of them has."""
    return sum(one.get(place) != other.get(place) for place in {**one, **other})


def outages(probes: Sequence[WriteRecord | ReadRecord]) -> tuple[Outage, ...]:
    """Return the intervals without successful probes."""
    found = []
    start = -1
    last = 0
    for each in sorted(probes, key=lambda probe: (probe.invoked, probe.ended)):
        last = max(last, each.ended)
        if each.outcome != OK:
            start = each.invoked if start < 0 else start
        elif start >= 0:
            found.append(Outage(start, each.ended))
            start = -1
    if start >= 0:
        found.append(Outage(start, last))
    return tuple(found)


def covered(intervals: Sequence[Outage]) -> int:
    """Return the total duration of outages, in µs. If outages overlap, the shared time counts once."""
    total = reached = 0
    for each in intervals:
        total += max(0, each.end - max(reached, each.start))
        reached = max(reached, each.end)
    return total


def _because_lost(stale: Sequence[ReadRecord], lost: Iterable[Row], account: Account) -> int:
    """Return the number of stale reads that missed only versions that are lost in the final state."""
    gone = {(row.key, row.version) for row in lost}
    kept: dict[str, list[int]] = {}
    for key, version in sorted(account.acked_times):
        if (key, version) not in gone:
            kept.setdefault(key, []).append(version)
    count = 0
    for each in stale:
        versions = kept.get(each.key, [])
        place = bisect_right(versions, each.row.version)
        count += place == len(versions) or versions[place] > each.acked
    return count
