"""Acts that are single steps of the protocol, in by-hand mode."""

from __future__ import annotations

from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.follower.fetcher import FOREVER, Fetcher
from core.lab import acts, by_hand_mode
from core.lab.act_handlers import find
from core.lab.cluster_nodes import ClusterNodes
from core.lab.spec import Pace
from core.sim.errors import ActRefused


def _fetchers(cluster: ClusterNodes, follower: int, leader: int | None) -> list[Fetcher]:
    broker = find.running_broker(cluster, follower)
    found = [fetcher for fetcher in broker.fetcher_manager.fetchers.values() if fetcher.states and leader in (None, fetcher.leader)]
    if not found:
        raise ActRefused(
            f"broker {follower} does not follow any partition" + (f" that broker {leader} leads" if leader is not None else "")
        )
    return found


def _fetch(cluster: ClusterNodes, act: acts.Fetch) -> find.CheckThenDo:
    fetchers = _fetchers(cluster, act.follower, act.leader)
    yield
    for fetcher in fetchers:
        _run_fetcher(cluster, fetcher, 0, 1, act.records or 0)


def _run_fetcher(cluster: ClusterNodes, fetcher: Fetcher, max_wait: int, min_bytes: int, max_records: int) -> None:
    """Run a fetcher once. The fetcher first sends the requests that must come before the fetch, and then the fetch."""
    if fetcher.in_flight:
        fetcher.abandon()
    fetcher.end_back_offs()
    for _ in range(64):
        preparing = bool(fetcher.preparing)
        fetcher.send_next(max_wait, min_bytes, max_records)
        cluster.deliver_pending()
        if not preparing or not cluster.delivers_at_once or fetcher.broker.state is BrokerState.STOPPED:
            break


def _arrive(cluster: ClusterNodes, act: acts.Arrive) -> find.CheckThenDo:
    fetchers = _fetchers(cluster, act.follower, act.leader)
    yield
    for fetcher in fetchers:
        _run_fetcher(cluster, fetcher, FOREVER, FOREVER, 0)


def _answer(cluster: ClusterNodes, act: acts.Answer) -> find.CheckThenDo:
    follower = find.running_broker(cluster, act.follower)
    waiting = [
        (leader, session)
        for leader in cluster.brokers.values()
        for session in leader.fetch_manager.sessions.values()
        if session.follower == act.follower and session.parked is not None and act.leader in (None, leader.id)
    ]
    if not waiting:
        raise ActRefused(f"no fetch from broker {act.follower} is waiting; use 'arrive' first")
    yield
    for leader, session in waiting:
        if act.lost:
            cluster.network.lose(leader.address, follower.address)
        leader.fetch_manager.complete_fetch(session, act.records or 0, corrupt=act.corrupt)


def _fence(cluster: ClusterNodes, act: acts.Fence) -> find.CheckThenDo:
    find.broker(cluster, act.broker)
    registration = cluster.controller.cluster_control.brokers.get(act.broker)
    if registration is None:
        raise ActRefused(f"broker {act.broker} is not registered")
    if registration.fenced:
        raise ActRefused(f"broker {act.broker} is already fenced")
    yield
    cluster.controller.fence(act.broker, by_session=False)


def _bounce(cluster: ClusterNodes, act: acts.Bounce) -> find.CheckThenDo:
    broker = find.running_broker(cluster, act.broker)
    find.check_keep(broker, act.keep)
    yield
    broker.bounce(act.keep, clean=act.clean)
    cluster.controller.broker_bounced(broker.id)


def _checkpoint(cluster: ClusterNodes, act: acts.Checkpoint) -> find.CheckThenDo:
    broker = find.running_broker(cluster, act.broker)
    yield
    broker.log_manager.checkpoint_high_watermarks()


def _check_isr(cluster: ClusterNodes, act: acts.CheckIsr) -> find.CheckThenDo:
    broker = find.running_broker(cluster, act.broker)
    yield
    broker.check_isr()


def _set_pace(cluster: ClusterNodes, act: acts.SetPace) -> find.CheckThenDo:
    if act.pace not in ("by-hand", "timeline"):
        raise ActRefused(f"pace must be by-hand or timeline, not {act.pace}")
    by_hand = act.pace == "by-hand"
    if by_hand is cluster.by_hand:
        raise ActRefused("the cluster is already in by-hand mode" if by_hand else "the cluster is already running on its own")
    if cluster.spec.pace is Pace.BY_HAND:
        raise ActRefused("this cluster can run only in by-hand mode")
    if cluster.zookeeper or cluster.quorum is not None:
        what = "a controller elected through ZooKeeper" if cluster.zookeeper else "a controller quorum"
        raise ActRefused(f"only a running cluster with one KRaft controller can switch to by-hand mode, but this cluster has {what}")
    if cluster.spec.network.bandwidth:
        raise ActRefused("in by-hand mode, messages take no time, so a cluster with a limited bandwidth cannot switch to it")
    yield
    by_hand_mode.switch(cluster, by_hand=by_hand)


HANDLERS: Final[find.Handlers] = {
    acts.SetPace: _set_pace,
    acts.Fetch: _fetch,
    acts.Arrive: _arrive,
    acts.Answer: _answer,
    acts.Fence: _fence,
    acts.Bounce: _bounce,
    acts.Checkpoint: _checkpoint,
    acts.CheckIsr: _check_isr,
}
