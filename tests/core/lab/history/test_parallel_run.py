"""A second run beside a session: under the same release, it never differs. It goes back with the session, and reports acts that are
impossible in it.
"""

from __future__ import annotations

from core.kafka.events import EventTuple
from core.kafka.release import RELEASES
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.history.destination import Destination
from core.lab.history.history import History
from core.lab.history.parallel_run import MOST_KEYFRAMES, ParallelRun
from core.lab.history.playable import PlayableCluster, PlayableFactory
from core.sim.journal import Sink
from core.sim.units import SECOND
from tests.core.lab.history.sessions import SMALL


def under(release: str) -> PlayableFactory:
    """Build the same cluster under a release."""

    def start(sink: Sink) -> PlayableCluster:
        return PlayableCluster(Cluster(SMALL, RELEASES[release], 7, sink))

    return start


def a_session() -> History:
    """Return a session under load."""
    history = History(under("4.3"))
    history.do(acts.Load("orders", 200, acks="all"))
    history.do(acts.Consume("orders"))
    return history


def catch_up(other: ParallelRun, history: History) -> None:
    replay_run = history.replay_run
    while not other.advance_to(history.view().now, replay_run.steps, replay_run.acts[: replay_run.acts_done], lambda: True):
        pass


def test_the_same_release_never_parts() -> None:
    history = a_session()
    other = ParallelRun("the same", under("4.3"))
    history.run_until(3 * SECOND)
    history.do(acts.Kill(2))
    for second in (4, 9, 15, 30):
        history.run_until(second * SECOND)
        catch_up(other, history)
        assert other.compare(history.event_buffer) is None
        assert other.view() == history.view()
    history.do(acts.Start(2))
    history.run_until(40 * SECOND)
    catch_up(other, history)
    assert other.view() == history.view()


def test_another_release_parts_at_the_first_event_that_differs() -> None:
    history = a_session()
    other = ParallelRun("Kafka 2.8", under("2.8"))
    history.do(acts.Kill(2))
    history.run_until(20 * SECOND)
    catch_up(other, history)
    parted = other.compare(history.event_buffer)
    assert parted is not None
    before = [event for event in history.events() if event[0] < parted.seq]
    theirs: list[EventTuple] = other.event_buffer.ring(0).since(0)
    assert [(event[1], *event[3:]) for event in before] == [(event[1], *event[3:]) for event in theirs[: len(before)]]
    assert parted.here == history.events()[len(before)]
    assert parted.there == theirs[len(before)]


def test_it_goes_back_with_the_session() -> None:
    history = a_session()
    other = ParallelRun("Kafka 2.8", under("2.8"))
    history.run_until(5 * SECOND)
    history.do(acts.Kill(1))
    history.run_until(20 * SECOND)
    catch_up(other, history)
    assert other.now == 20 * SECOND
    history.go_to(Destination(time=4 * SECOND))
    catch_up(other, history)
    assert other.now == history.view().now == 4 * SECOND
    assert other.view().brokers[0].state == "running"
    history.do(acts.Kill(3))
    history.run_until(6 * SECOND)
    catch_up(other, history)
    assert [broker.state for broker in other.view().brokers] == ["running", "running", "stopped"]


def test_an_impossible_act_is_reported() -> None:
    history = a_session()
    other = ParallelRun("Kafka 0.10.2", under("0.10.2"))
    history.run_until(SECOND)
    history.do(acts.Shutdown(2))
    history.run_until(30 * SECOND)
    other.replay_run.cluster.run_until(SECOND // 2)
    other.replay_run.cluster.do(acts.Kill(2))
    catch_up(other, history)
    ((played, reason),) = other.refused
    assert played.act == acts.Shutdown(2)
    assert "not running" in reason


class Counting:
    """An observer that counts events."""

    def __init__(self, count: int = 0) -> None:
        self.count = count

    def __call__(self, event: EventTuple) -> None:
        self.count += 1

    def copy(self) -> Counting:
        return Counting(self.count)


def test_it_goes_back_to_a_keyframe_with_its_observer() -> None:
    starts = 0

    def start(sink: Sink) -> PlayableCluster:
        nonlocal starts
        starts += 1
        return under("4.3")(sink)  # type: ignore[return-value]

    history = a_session()
    other = ParallelRun("the same", start, observe=Counting)
    for second in range(1, 30):
        history.run_until(second * SECOND)
        if second == 20:
            history.do(acts.Kill(2))
        catch_up(other, history)
    assert len(other._kept) <= MOST_KEYFRAMES
    for moment in (25, 21, 19, 8):
        history.go_to(Destination(time=moment * SECOND))
        catch_up(other, history)
        assert other.now == moment * SECOND
        assert other.view() == history.view()
        assert isinstance(other.observer, Counting)
        assert other.observer.count == other.event_buffer.ring(0).total == history.view().seq
    assert starts == 1, "it did not start over"
    history.do(acts.Kill(3))
    history.run_until(12 * SECOND)
    catch_up(other, history)
    assert other.view() == history.view()
    assert other.compare(history.event_buffer) is None
