"""The search by hand: all orders of a few acts in a small cluster whose time stands still.

Followers fetch only when an act tells them to, and every act includes all that follows from it at once, so each order of acts is one run of the
protocol's code. A fetch can be one act, or two: it arrives at the leader, and it is answered, with anything in between. Time does not
pass; instead, what time would bring about is an act: the controller fences a broker that is gone, a broker writes its checkpoint. The search tries
every order of the acts within the bounds, and visits each state of the cluster once (`core.sim.exploration.search`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import attrs

from core.kafka.broker.broker import Broker
from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.follower.fetcher_manager import ReplicaFetcherManager
from core.kafka.broker.log_manager.log_manager import LogManager
from core.kafka.broker.replica_manager import ReplicaManager
from core.kafka.broker.requests.fetch_manager import FetchManager
from core.kafka.clients.client import Client
from core.kafka.errors import KafkaError
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.release import Release as KafkaRelease
from core.kafka.release import Truncation
from core.lab.act_handlers import act_arguments
from core.lab.act_sentences import act_sentence
from core.lab.acts import Act, Answer, Arrive, Bounce, Checkpoint, Fence, Fetch, Hold, Kill, PowerLoss, Produce, Release, Shutdown, Start
from core.lab.cluster import Cluster
from core.lab.fingerprint_fields import LAB_FIELDS
from core.lab.spec import ClusterSpec, Pace
from core.sim.errors import ActRefused
from core.sim.exploration.choices import Choice, act
from core.sim.exploration.search import NOT_COMPARED, Outcome, Search
from core.sim.state.fields import Declared, Table
from scenarios.exploration.exploration import value_of
from scenarios.exploration.goal import Goal, record_counts
from scenarios.language.script import read_script
from scenarios.logs.recorded_session import session_script
from scenarios.running.runner import run_scenario

Steps = tuple[Act, ...]
"""The acts that make one choice."""

Tell = Callable[[int, int], None]
"""Shows the numbers of states and choices of a search."""

MOST_BROKERS: Final = 3
"""The largest number of brokers of a cluster that is searched by hand."""

LOST_ANSWER: Final = "lost-answer"
"""The word of the fault that an answer to a fetch is lost."""

CONTROLLER: Final = "controller"
"""The name of the active controller in acts."""


@attrs.frozen
class HandFault:
    """A kind of fault.

    Attributes:
        word: the name of the kind, as the option `--faults` takes it.
        does: what happens, in words.
        steps: a function that yields the possible faults of this kind that hit a running broker.
    """

    word: str
    does: str
    steps: Callable[[Cluster, Broker], Iterator[Steps]]


@attrs.define
class Bounds:
    """How often things can happen.

    Attributes:
        records: the number of records, each of which is sent by a producer of its own.
        fetches: the number of fetches of followers.
        faults: the largest number of faults by kind.
        at_most: the largest number of faults.
        acks: the acks of the producers.
        arrives: whether a fetch can also arrive at the leader first, and be answered later.
    """

    records: int
    fetches: int
    faults: Mapping[str, int]
    at_most: int
    acks: str = "all"
    arrives: bool = True


class Left:
    """How often things can still happen in a search."""

    __slots__ = ("at_most", "faults", "fetches", "records")

    def __init__(self, bounds: Bounds) -> None:
        self.records, self.fetches, self.at_most = bounds.records, bounds.fetches, bounds.at_most
        self.faults = dict(bounds.faults)

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers, in an order that never changes."""
        return (self.records, self.fetches, self.at_most, *self.faults.values())

    def spend(self, what: str) -> None:
        """Count one record, one fetch, or one fault of a kind."""
        if what == "records":
            self.records -= 1
        elif what == "fetches":
            self.fetches -= 1
        elif what:
            self.faults[what] -= 1
            self.at_most -= 1


@attrs.frozen
class HandOutcome:
    """The result of a search by hand.

    Attributes:
        search: the result of the search through the states.
        acts: the acts that make the goal true; empty if nothing was found.
        script: a script that shows it; empty if nothing was found.
        seconds: how long the search took, in seconds of CPU time.
    """

    search: Outcome
    acts: Steps
    script: str
    seconds: float

    @property
    def is_none(self) -> bool:
        """Whether the acts cannot make the goal true: all states were visited, and those that were left out go on like those that were visited."""
        found = self.search
        return found.complete and not found.differing and found.compared != NOT_COMPARED


class HandSearch:
    """A search by hand in a cluster.

    Attributes:
        cluster: the cluster. Its state changes while the search runs.
    """

    def __init__(self, spec: ClusterSpec, release: KafkaRelease, seed: int, goal: Goal, bounds: Bounds, before: Steps = ()) -> None:
        """Prepare a search that begins after some acts.

        Raises:
            ValueError: the cluster cannot be stepped by hand.
        """
        if len(spec.brokers) > MOST_BROKERS:
            raise ValueError(f"a search by hand needs a cluster of at most {MOST_BROKERS} brokers; this one has {len(spec.brokers)}")
        partitions = sum(topic.partitions for topic in spec.topics)
        if partitions != 1 or spec.controllers:
            raise ValueError(f"a search by hand needs one partition and one controller; this cluster has {partitions} partitions")
        self.spec: Final = attrs.evolve(spec, pace=Pace.BY_HAND)
        self.release: Final = release
        self.cluster: Final = Cluster(self.spec, release, seed)
        self._seed: Final = seed
        self._goal: Final = goal
        self._bounds: Final = bounds
        self._left: Final = Left(bounds)
        self._before: Final = before
        self._steps: Final[dict[str, Steps]] = {}
        self._names: Final[dict[Steps, str]] = {}
        self._false: Final[set[tuple[int, ...]]] = set()
        for each in before:
            self.cluster.do(each)

    def after(self, acts: Steps) -> str:
        """Return what the goal reads, in words, after some acts of a cluster that is new."""
        try:
            for each in acts:
                self.cluster.do(each)
        except (ActRefused, KafkaError, ValueError):
            return "the same acts are not possible"
        return value_of(self._goal, self.cluster)

    def run(
        self,
        name: str,
        limit: int = 100_000,
        *,
        compare: bool = False,
        seconds: float | None = None,
        tell: Tell = lambda states, choices: None,
    ) -> HandOutcome:
        """Search.

        Args:
            name: the name of the cluster, for the script.
            limit: the largest number of states.
            compare: whether states with the same key are compared, which takes about twice as long.
            seconds: the time limit in seconds of real time; None for no limit.
            tell: a function that is called again and again with the numbers of states and choices so far, to show progress.
        """
        begun = time.process_time()
        end = math.inf if seconds is None else time.monotonic() + seconds

        def stop() -> bool:
            tell(search.states, search.taken)
            return time.monotonic() > end

        search = Search(
            self.cluster,
            self._reached,
            self.choices,
            also=(self.cluster.account.partitions,),
            bounds=(self._left,),
            left=self._left.numbers,
            limit=limit,
            table=HAND_FIELDS,
            only_acts=True,
            compare=compare,
            stop=stop,
        )
        found = search.run()
        seconds = time.process_time() - begun
        acts = tuple(each for step in found.path for each in self._steps[step])
        return HandOutcome(found, acts, self._script(acts, name) if found.bad else "", seconds)

    def choices(self) -> list[Choice]:
        """Return all that can happen now."""
        found = [self._choice(steps, what) for steps, what in self._possible()]
        return sorted(found, key=lambda each: each.name)

    def _choice(self, steps: Steps, what: str) -> Choice:
        name = self._names.get(steps)
        if name is None:
            name = self._names[steps] = steps_in_words(steps)
            self._steps[name] = steps
        return act(name, partial(self._do, steps, what))

    def _do(self, steps: Steps, what: str) -> None:
        self._left.spend(what)
        for each in steps:
            self.cluster.do(each)

    def _possible(self) -> Iterator[tuple[Steps, str]]:
        """Yield what can happen now, each with the bound that it counts for."""
        cluster, left = self.cluster, self._left
        if left.records:
            for tp, registration in cluster.controller.registry.partitions.items():
                leader = cluster.brokers.get(registration.leader)
                if leader is not None and leader.context.state is BrokerState.RUNNING:
                    producer = f"p{len(cluster.clients) + 1}"  # a new one, because others can be in a backoff that no time ends
                    record = Produce(tp.topic, 1, tp.partition, acks=self._bounds.acks, idempotence=False, producer=producer)
                    yield (record,), "records"
        for sender, node in _stalled(cluster):
            yield (Release((sender, node)),), ""
        for broker in cluster.brokers.values():
            yield from self._of_controller(broker)
            if broker.context.state is BrokerState.RUNNING:
                yield from self._of_broker(broker)

    def _of_controller(self, broker: Broker) -> Iterator[tuple[Steps, str]]:
        """Yield what happens because a broker is gone, or seems to be."""
        number = broker.id
        registration = self.cluster.controller.cluster_control.brokers.get(number)
        fenced = registration is None or registration.fenced
        stopped, unheard = broker.context.state is BrokerState.STOPPED, _is_unheard(self.cluster, number)
        if (stopped or unheard) and not fenced:
            yield (Fence(number),), ""
        if stopped and fenced:
            yield (Start(number),), ""
        if unheard:
            yield (Release((CONTROLLER, broker_address(number))),), ""

    def _of_broker(self, broker: Broker) -> Iterator[tuple[Steps, str]]:
        """Yield what a running broker can do, and what can happen to it."""
        number, left = broker.id, self._left
        waiting = any(
            session.follower == number and session.parked is not None
            for leader in self.cluster.brokers.values()
            for session in leader.fetch_manager.sessions.values()
        )
        if waiting:
            yield (Answer(number),), ""
            if left.at_most and left.faults.get(LOST_ANSWER):
                yield (Answer(number, lost=True),), LOST_ANSWER
        elif left.fetches and self._can_fetch(broker):
            yield (Fetch(number),), "fetches"
            if self._bounds.arrives:
                yield (Arrive(number),), "fetches"
        cuts_at_checkpoint = broker.context.release.truncation is Truncation.HIGH_WATERMARK
        if cuts_at_checkpoint and any(broker.disk.high_watermarks.get(tp, 0) != log.high_watermark for tp, log in broker.disk.logs.items()):
            yield (Checkpoint(number),), ""
        if left.at_most:
            for word, remaining in left.faults.items():
                if remaining:
                    for steps in HAND_FAULTS[word].steps(self.cluster, broker):
                        yield steps, word

    def _can_fetch(self, broker: Broker) -> bool:
        """Return whether a follower can fetch. It waits for an answer that is held back, but not for one that will never come."""
        stalled = any(broker.address in link for link in _stalled(self.cluster))
        return any(fetcher.states and not (stalled and fetcher.in_flight) for fetcher in broker.fetcher_manager.fetchers.values())

    def _reached(self) -> str:
        """Return the goal if it is true now. A goal about records waits until each partition has a leader that runs, because until then, the
        next leader can have the records."""
        cluster, goal = self.cluster, self._goal
        for account in cluster.account.partitions.values():
            account.add_committed()  # otherwise, states would differ only because a goal has read one of them
        numbers = record_counts(cluster) if goal.is_lasting else ()  # the goal reads only these
        if numbers in self._false:
            return ""
        if not goal.holds(cluster):
            if goal.is_lasting:
                self._false.add(numbers)
            return ""
        if goal.is_lasting:
            for registration in cluster.controller.registry.partitions.values():
                leader = cluster.brokers.get(registration.leader)
                if leader is None or leader.context.state is not BrokerState.RUNNING:
                    return ""
        return goal.condition.text

    def _script(self, acts: Steps, name: str) -> str:
        goal = self._goal.condition.text
        script = session_script(
            self.spec,
            self.release,
            self._seed,
            [(0, each) for each in (*self._before, *acts)],
            0,
            name=f"{name}-by-hand",
            about=f"{goal} after {len(acts)} acts. Found by isrlab explore --by-hand.",
            expects=[(0, goal)],
        )
        result = run_scenario(read_script(script, f"{name}-by-hand"), self.release, self._seed)
        assert result.held, "a search by hand and the script of what it found differ"
        return script


UNUSED: Final[Mapping[type, tuple[str, ...]]] = {
    Broker: ("groups", "producer_id_manager", "topic_creation", "transactions", "voter"),
    FetchManager: ("quota",),
    LogManager: ("cleaner", "configs"),
    ReplicaFetcherManager: ("quota",),
    ReplicaManager: ("add_partitions_manager", "consumer_fetches", "coordinators"),
}
"""The parts of a broker that no act of a search by hand uses, so that they never change: there are no groups, no transactions, and no idempotent
producers, and nothing is created, configured, limited, or cleaned."""


def _without(cls: type, fields: tuple[str, ...]) -> Declared:
    """Return the rules for the fields of a class, some of which do not count."""
    rules = LAB_FIELDS.get(cls, Declared())
    return rules._replace(history=(*rules.history, *fields))


HAND_FIELDS: Final[Table] = {
    **LAB_FIELDS,
    object: LAB_FIELDS[object]._replace(history=(*LAB_FIELDS[object].history, "settings", "release", "config")),  # no act changes them
    Client: LAB_FIELDS[Client]._replace(history=(*LAB_FIELDS[Client].history, "_reconnect")),  # backoffs do not end
    **{each: _without(each, fields) for each, fields in UNUSED.items()},
}
"""The rules for the fields of each class if time stands still, by class."""


def steps_in_words(steps: Sequence[Act]) -> str:
    """Return acts in words, for example `checkpoint b1, kill b1`."""
    return ", ".join(act_sentence(each.word, act_arguments(each)) for each in steps)


def _follows(cluster: Cluster, broker: Broker) -> bool:
    return all(registration.leader != broker.id for registration in cluster.controller.registry.partitions.values())


def _is_unheard(cluster: Cluster, number: int) -> bool:
    """Return whether what the controller tells a broker is held back."""
    link = cluster.network.links.get((cluster.controller_address, broker_address(number)))
    return link is not None and link.held


def _stalled(cluster: Cluster) -> list[tuple[str, str]]:
    """Return the links between brokers whose messages are held back, each from its sender to its receiver."""
    brokers = {broker.address for broker in cluster.brokers.values()}
    return sorted(pair for pair, link in cluster.network.links.items() if link.held and brokers.issuperset(pair))


def _stalls(cluster: Cluster, broker: Broker) -> Iterator[Steps]:
    stalled = _stalled(cluster)
    for other in cluster.brokers.values():
        if other is not broker and (broker.address, other.address) not in stalled:
            yield (Hold((broker.address, other.address)),)


def _kept(broker: Broker) -> Iterator[tuple[tuple[TopicPartition, int], ...]]:
    """Yield how much of a broker's logs can be on disk: nothing of what was not flushed, all but the newest record, or everything."""
    logs = broker.disk.logs
    nothing = tuple((tp, log.recovery_point) for tp, log in logs.items())
    newest = tuple((tp, max(log.recovery_point, log.leo - 1)) for tp, log in logs.items())
    everything = tuple((tp, log.leo) for tp, log in logs.items())
    yield from dict.fromkeys((nothing, newest, everything))


HAND_FAULTS: Final[Mapping[str, HandFault]] = {
    fault.word: fault
    for fault in (
        HandFault("kill", "a broker's process dies (kill -9)", lambda cluster, broker: iter([(Kill(broker.id),)])),
        HandFault("shutdown", "a broker is shut down cleanly", lambda cluster, broker: iter([(Shutdown(broker.id),)])),
        HandFault(
            "power-loss",
            "a broker's machine loses power, with nothing, one record, or everything of what was not flushed",
            lambda cluster, broker: ((PowerLoss(broker.id, keep),) for keep in _kept(broker)),
        ),
        HandFault(
            "restart",
            "a follower's process restarts before the controller notices",
            lambda cluster, broker: iter([(Bounce(broker.id),)] if _follows(cluster, broker) else []),
        ),
        HandFault(
            "power-restart",
            "a follower's machine loses power and is back before the controller notices",
            lambda cluster, broker: ((Bounce(broker.id, clean=False, keep=keep),) for keep in _kept(broker) if _follows(cluster, broker)),
        ),
        HandFault(LOST_ANSWER, "the answer to a fetch that waits at the leader is lost", lambda cluster, broker: iter(())),
        HandFault("stall", "what a broker sends to another one is held back, and arrives later", _stalls),
        HandFault(
            "unheard",
            "what the controller tells a broker is held back, and the controller can fence it",
            lambda cluster, broker: iter([] if _is_unheard(cluster, broker.id) else [(Hold((CONTROLLER, broker_address(broker.id))),)]),
        ),
    )
}
"""All kinds of faults of a search by hand, by word."""
