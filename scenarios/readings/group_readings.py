"""Readings of consumer groups and their members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.consumer_group.member_state import ConsumerGroupState
from core.kafka.ids import TopicPartition
from core.lab.burrow import LogEnds, Verdict, evaluate, group_verdict, windows
from core.lab.views.group_view import GroupView, MemberView
from scenarios.readings.reading import DURATION, NUMBER, TEXT, WORD, Moment, Reading


def _of_group(take: Callable[[GroupView], Any]) -> Callable[..., Any]:
    def read(moment: Moment, group: str) -> Any:
        for view in moment.view().groups:
            if view.name == group:
                return take(view)
        return None

    return read


def _owner(moment: Moment, group: str, tp: TopicPartition) -> Any:
    """Return the client that owns a partition according to the coordinator, or None if no client owns the partition."""
    for view in moment.view().groups:
        if view.name == group:
            return next((member.client for member in view.members if tp in member.assignment), None)
    return None


def _lag_behind(moment: Moment, tp: TopicPartition, offset: int, *, stable: bool = False) -> int | None:
    """Return the high watermark, or the last stable offset, minus a committed offset; None if the partition has no leader."""
    view = moment.partition(tp)
    if view is None or view.offline:
        return None
    end = view.held_back_at if stable and view.held_back_at is not None else view.replica_on(view.leader).hw
    return end - offset


def _lag(*, stable: bool = False) -> Callable[..., Any]:
    """Return a function that reads the lag of one partition, or the sum over all partitions with a committed offset."""

    def read(moment: Moment, group: str, tp: TopicPartition | None = None) -> Any:
        for view in moment.view().groups:
            if view.name == group:
                lags = {each: _lag_behind(moment, each, offset, stable=stable) for each, offset in view.offsets if tp in (None, each)}
                return lags.get(tp) if tp is not None else sum(lag for lag in lags.values() if lag is not None)
        return None

    return read


def _time_lag(moment: Moment, group: str, tp: TopicPartition | None = None) -> Any:
    """Return how long consumers have been able to read the oldest record that a group has not committed, in µs. If no partition is given,
    return the maximum over all partitions.
    """
    ends, now = LogEnds(moment.events("high-watermark")), moment.view().now
    for view in moment.view().groups:
        if view.name == group:
            since = {each: ends.passed(each, offset) for each, offset in view.offsets if tp in (None, each)}
            return max((0 if at is None else now - at for at in since.values()), default=None)
    return None


def _burrow(moment: Moment, group: str, tp: TopicPartition | None = None) -> Any:
    """Return the status that Burrow gives a partition or a group; None if the group has committed nothing."""
    ends, now = LogEnds(moment.events("high-watermark")), moment.view().now
    found = {
        each: evaluate(commits, _lag_behind(moment, each, commits[-1].offset) or 0, now, ends.recent(each, now))
        for each, commits in windows(group, moment.events("offset-committed"), ends).items()
        if tp in (None, each)
    }
    if not found:
        return None
    return (group_verdict(found.values()) if tp is None else found[tp]).name.lower()


def _consumption(name: str) -> Callable[..., Any]:
    def read(moment: Moment, group: str, tp: TopicPartition | None = None) -> Any:
        found = [getattr(view, name) for view in moment.view().consumption if view.group == group and tp in (None, view.tp)]
        return sum(found) if found else None

    return read


def of_member(take: Callable[[MemberView], Any]) -> Callable[..., Any]:
    def read(moment: Moment, client: str) -> Any:
        for view in moment.view().members:
            if view.name == client:
                return take(view)
        return None

    return read


def _activity(view: MemberView) -> str:
    """Return a word that describes what a consumer of a group is doing."""
    if view.frozen:
        return "frozen"
    return ENDED if not view.running else ACTIVITIES[view.phase]


def _committed_offset(moment: Moment, group: str, tp: TopicPartition) -> Any:
    for view in moment.view().groups:
        if view.name == group:
            return dict(view.offsets).get(tp)
    return None


ENDED: Final = "ended"
"""The value of the reading `process-step` for a process whose instance has ended."""

ACTIVITIES: Final = {
    "in poll()": "polling", "committing before a rebalance": "committing", "committing before it processes": "committing",
    "processing": "processing", "committing": "committing", "closing": "closing", "stopped after an exception": "stopped",
    "ended": ENDED,
}  # fmt: skip
"""The words that conditions use for the phases of a consumer in a group."""

GROUP_STATES: Final = {state.value: state.name.lower().replace("_", "-") for state in (*GroupState, *ConsumerGroupState)}
"""The words that conditions use for the states of a group."""

GROUP_READINGS: Final = (
    Reading("committed-offset", ("group", "partition"), NUMBER, "the committed offset of a group", _committed_offset),
    Reading(
        "group-state", ("group",), WORD, "the state of a group, as its coordinator knows it",
        _of_group(lambda view: GROUP_STATES[view.state]), tuple(GROUP_STATES.values()),
    ),
    Reading("generation", ("group",), NUMBER, "the generation of a group, or its epoch in the consumer protocol", _of_group(lambda view: view.generation)),
    Reading("members", ("group",), NUMBER, "the number of members of a group", _of_group(lambda view: len(view.members))),
    Reading("owner", ("group", "partition"), TEXT, "the consumer of a group to which a partition is assigned", _owner),
    Reading("owned", ("client",), NUMBER, "the number of partitions that a consumer of a group owns", of_member(lambda view: len(view.owned))),
    Reading("lag", ("group", "partition?"), NUMBER, "the high watermark minus the committed offset of a group, for one partition or for "
        "all partitions", _lag()),
    Reading("stable-lag", ("group", "partition?"), NUMBER, "the last stable offset minus the committed offset of a group, for one partition or for "
        "all partitions: what consumers with read_committed can still read", _lag(stable=True)),
    Reading("time-lag", ("group", "partition?"), DURATION, "how long the group's oldest uncommitted record has been below the high "
        "watermark; without a partition, the longest of these times over all partitions with a committed offset", _time_lag, ages=True,
        kinds=("high-watermark",)),
    Reading("burrow", ("group", "partition?"), WORD, "the status that Burrow gives a group or one of its partitions, based on the last 10 commits and their lags; "
        "for a group, 'err' stands for 'stop', 'stall', and 'rewind'", _burrow, tuple(verdict.name.lower() for verdict in Verdict), ages=True,
        kinds=("high-watermark", "offset-committed")),
    Reading("activity", ("client",), WORD, "what a consumer of a group is doing", of_member(_activity), tuple(dict.fromkeys((*ACTIVITIES.values(), "frozen")))),
    Reading("processed-by", ("group", "partition?"), NUMBER, "the number of records that the members of a group have processed, each counted "
        "once", _consumption("processed")),
    Reading("repeats", ("group", "partition?"), NUMBER, "the number of times that members of a group have processed a record that the "
        "group had already processed", _consumption("repeats")),
    Reading("processed-out-of-order", ("group", "partition?"), NUMBER, "the number of records that a group first processed after later records "
        "of the same partition", _consumption("out_of_order")),
    Reading("skipped", ("group", "partition?"), NUMBER, "the number of records that a group never gets, although it had to read them: the sum of "
        "the next four readings", _consumption("skipped")),
    Reading("skipped-committed", ("group", "partition?"), NUMBER, "the number of records that a group skipped because it committed a higher offset "
        "before a member processed them", _consumption("committed")),
    Reading("skipped-reset", ("group", "partition?"), NUMBER, "the number of records that a group skipped because auto.offset.reset gave a member a "
        "higher position after the group had begun to read the topic", _consumption("reset")),
    Reading("skipped-deleted", ("group", "partition?"), NUMBER, "the number of records that retention or DeleteRecords deleted before a member of a group "
        "processed them", _consumption("deleted")),
    Reading("skipped-truncated", ("group", "partition?"), NUMBER, "the number of records that a group never gets because a log was truncated: they "
        "were truncated before a member processed them, or written after that below an offset that the group had passed", _consumption("truncated")),
    Reading("left-out", ("group", "partition?"), NUMBER, "the number of records below the position at which a group began, which auto.offset.reset "
        "gave; the group leaves them out on purpose, so they are not skipped", _consumption("left_out")),
)  # fmt: skip
