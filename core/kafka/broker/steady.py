"""The steady case of replication, many partitions at a time: the same rules as the general methods, in one loop with early exits.

Nearly all of what a cluster does is this: a follower in the ISR asks for what follows its log's end, in the leader's epoch,
and is handed the end of one run; it appends that, takes the high watermark over, and asks on. Here the leader's side of that
(`look_at_partitions`: `Partition#fetchRecords`, `Partition#updateFollowerFetchState`, for a whole fetch session) and the follower's side (`take_partitions`: `ReplicaFetcherThread#processPartitionData`) are written out
without calls. Whatever is not plainly the steady case (an error, another epoch, a replica outside the ISR, several runs, a
limit that is reached, a flush that is due) goes the general way, partition by partition and in the same order:
`FetchManager.look_at_partition` and `fetched.take_partition`. A test holds both ways against each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from core.kafka import events
from core.kafka.broker.fetch_session import FetchSession, SessionPartition
from core.kafka.broker.fetched import take_partition
from core.kafka.ids import NO_EPOCH
from core.kafka.messages import AskedPartition, FetchedPartition, FetchedRun, FetchRequest, FetchResponse, as_fetched_partition
from core.kafka.release import Truncation
from core.sim.journal import Column, nobody

if TYPE_CHECKING:
    from core.kafka.broker.fetch_manager import FetchManager
    from core.kafka.broker.fetcher import Fetcher

FETCHED: Final = events.FollowerFetched.kind
APPENDED: Final = events.FollowerAppended.kind
LEARNED: Final = events.FollowerHighWatermark.kind


def look_at_partitions(manager: FetchManager, session: FetchSession, request: FetchRequest) -> list[FetchedPartition | FetchedRun] | None:
    """A follower's fetch, at the partitions with news (`ReplicaManager#fetchMessages`): the parts of its answer, None if it has to wait.

    What is steady (`Partition.steady_epoch`): this broker leads in the epoch that the follower names, and every follower is in
    the maximal ISR. The general way was gone once before (`SessionPartition.replica`) and again when the log start or the follower's broker epoch moved: they stand as they
    were told.
    """
    broker = manager.broker
    journal = broker.journal
    now = journal.now
    at: Column = now
    arrived: Column = journal.cause
    sink, watched = journal.sink, journal.sink is not nobody
    me: Column = broker.id
    follower: Column = session.follower
    behind = manager.behind
    general = (
        request.max_records != 0
        or broker.leader_quota is not None
        or manager.pushes_high_watermark
        or manager.broker_epoch_is_stale(request)
    )
    partition_bytes, total_bytes, total, wanted = request.partition_max_bytes, request.max_bytes, 0, request.min_bytes
    surely = min(partition_bytes, total_bytes - 1)  # an answer of so many bytes exceeds no limit
    answered = request.max_wait <= 0
    looked_at: list[tuple[SessionPartition, FetchedPartition | FetchedRun]] = []
    taken = session.take_dirty()
    entries = taken if broker.leader_quota is None else manager.within_quota(taken, session, request)
    seq = journal.seq
    part: FetchedRun
    for entry in entries:
        partition, replica = entry.partition, entry.replica
        tp, asked_from, epoch, last_fetched_epoch, cause = entry.asked
        offset: int = asked_from  # to compare; events and messages are given the `Column` that came
        steady = False
        if replica is not None and partition is not None and partition.steady_epoch == epoch and not general:
            # Partition#fetchRecords, FetchManager.tell, Partition#updateFollowerFetchState
            log = partition.log
            leo = log.leo
            high_watermark = log.high_watermark
            tail = log.tail
            if offset == entry.sent_end and offset != leo and tail is not None:
                upto = tail.bytes
                size = upto - entry.sent_total
                total += size
                if total <= surely or (size <= partition_bytes and total < total_bytes):
                    steady = True
                    part = (tp, None, asked_from, tail, high_watermark, log.log_start, leo, size, log.last_append)
                    entry.sent_end = leo
                    entry.sent_total = upto
                    answered = answered or total >= wanted
                    looked_at.append((entry, part))
                    if replica.session is not None:
                        replica.settle()
                        behind[tp] = None
                    if offset >= replica.last_fetch_leader_leo:
                        replica.last_caught_up_time = replica.last_fetch_time
                else:
                    total -= size
            elif offset == leo and (last_fetched_epoch == epoch or last_fetched_epoch < 0) and total < total_bytes:
                steady = True
                part = (tp, None, asked_from, tail, high_watermark, log.log_start, leo, 0, log.last_append)
                answered = answered or total >= wanted
                looked_at.append((entry, part))
                replica.last_caught_up_time = now
                replica.session = session
                partition.has_quiet_followers = True
        if not steady or partition is None or replica is None:
            journal.seq = seq
            general_part, at_once = manager.look_at_partition(session, entry, request, total_bytes - total)
            seq = journal.seq
            for stretch in general_part.records:
                total += stretch.bytes
            answered = answered or at_once or total >= wanted
            looked_at.append((entry, general_part))
            continue
        # Replica#updateFetchStateOrThrow
        replica.last_fetch_leader_leo = leo
        replica.last_fetch_time = now
        old = replica.leo
        if offset != old:
            replica.leo = offset
            seq += 1
            if watched:
                sink((seq, at, cause or arrived, FETCHED, me, entry.topic, entry.number, follower, old, asked_from))
            journal.seq = journal.cause = seq
            if partition.maybe_increment_leader_hw():
                seq = journal.seq
            journal.cause = arrived
    journal.seq = seq
    if not answered:
        session.put_back(taken)
        return None
    news = [told for entry, told in looked_at if manager.tell(entry, told)]
    session.put_back(taken)
    return news


def read_run(entry: SessionPartition, request: FetchRequest, left: int) -> FetchedRun | None:
    """What one partition of a fetch that leaves the purgatory gets (`Partition#fetchRecords`), if that is steady.

    Of `left` bytes at most.
    """
    partition = entry.partition
    tp, offset, epoch, last_fetched_epoch, _ = entry.asked
    if (
        partition is None
        or entry.replica is None
        or partition.steady_epoch != epoch
        or (last_fetched_epoch != epoch and last_fetched_epoch >= 0)
    ):
        return None
    log, size = partition.log, 0
    leo, log_start, tail = log.leo, log.log_start, log.tail
    if offset != leo:
        if offset != entry.sent_end or tail is None:
            return None
        upto = tail.bytes
        size = upto - entry.sent_total
        if size >= left or size > request.partition_max_bytes:
            return None
        entry.sent_end, entry.sent_total = leo, upto
    if offset < log_start:
        return None
    return (tp, None, offset, tail, log.high_watermark, log_start, leo, size, log.last_append)


def take_partitions(fetcher: Fetcher, response: FetchResponse) -> list[AskedPartition]:
    """A leader's answer to a fetch, at every partition in it (`AbstractFetcherThread#processFetchRequest`).

    What is steady (`PartitionFetchState.steady`): the partition fetches in the epoch that its last request named, does not back
    off, and has taken records of this leader before. Returns what the next request is to ask of those that moved, as far as the
    fetcher has not noted it.
    """
    broker = fetcher.broker
    journal = broker.journal
    at: Column = journal.now
    arrived: Column = journal.cause
    seq = journal.seq
    sink, watched = journal.sink, journal.sink is not nobody
    me: Column = broker.id
    leader: Column = fetcher.leader
    states = fetcher.states
    changed, checkpoints = broker.disk.changed, broker.disk.checkpoints
    tells_epoch = broker.release.truncation is Truncation.ON_FETCH
    moved: list[AskedPartition] = []
    parts: tuple[Any, ...] = response.partitions
    for part in parts:
        run: FetchedRun = part  # the general form has as many fields, of the same types, and never a term
        tp, _, start, term, told, log_start, upto, _, cause = run
        state = states.get(tp)
        if state is not None and state.steady:
            log = state.log
            offset: int = start
            high_watermark: int = told
            end: int = upto
            old, flush_at = log.high_watermark, log.flush_at
            if (
                offset == log.leo
                and term is log.tail
                and high_watermark >= old
                and log_start <= log.log_start
                and (flush_at is None or end < flush_at)
            ):
                if high_watermark != old:
                    log.high_watermark = high_watermark  # never past the end: a run goes up to the leader's LEO
                    if log.noted != checkpoints:
                        log.noted = checkpoints
                        changed[tp] = None
                if end > offset:
                    log.leo = end
                    seq += 1
                    event: Column = seq
                    log.last_append = event
                    epoch = state.leader_epoch  # the term's too: a run is of the leader's own term
                    moved.append((tp, upto, epoch, epoch if tells_epoch else NO_EPOCH, event))
                    if watched:
                        sink((event, at, cause or arrived, APPENDED, me, state.topic, state.number, leader, start, upto, told))
                elif high_watermark != old:
                    seq += 1
                    if watched:
                        sink((seq, at, cause or arrived, LEARNED, me, state.topic, state.number, old, told))
                continue
        fetcher.note(moved)
        journal.seq = seq
        take_partition(fetcher, as_fetched_partition(part))
        journal.cause = arrived
        seq = journal.seq
    journal.seq = seq
    return moved
