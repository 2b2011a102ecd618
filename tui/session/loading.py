"""Builds the session for a target: a scenario, a described cluster, an old session, or the default cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from core.kafka.events import EventTuple
from core.kafka.release import CURRENT, Release
from core.kafka.topic_spec import TopicSpec
from core.lab.acts import Act, Consume, Load
from core.lab.cluster import Cluster
from core.lab.history.playable import Playable, PlayableCluster, PlayableFactory
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.repr_mixin import ReprMixin
from scenarios.io.output_files import write_atomically
from tui.analysis.metrics_history import MetricsHistory
from tui.session.play_target import PlayTarget
from tui.session.scenario_state import ScenarioState
from tui.session.session import Session
from tui.session.session_search import SessionSearch

if TYPE_CHECKING:
    from scenarios.language.script import Scenario
    from scenarios.lessons.player import Player
    from scenarios.logs.log_header import Header
    from scenarios.variations.variation import VariedRun

DEFAULT_SPEC: Final = ClusterSpec(
    brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
    topics=(TopicSpec("orders", partitions=6, replication_factor=3), TopicSpec("payments", partitions=3, replication_factor=3)),
    settings=(("min.insync.replicas", 2),),
)
"""The cluster that the playground opens by default."""

DEFAULT_ACTS: Final[tuple[Act, ...]] = (
    Load("orders", 200, acks="all"),
    Load("payments", 20, acks="all", producer="payments-load"),
    Consume("orders"),
)
"""The acts that start the two producers and the consumer of the default cluster."""

DEFAULT_TITLE: Final = "three brokers under load"
"""The title of the default cluster on the screen."""


@attrs.frozen(repr=False)
class LoadedSession(ReprMixin):
    """A session together with the data that the screen needs.

    Attributes:
        session: the running session.
        title: the name of the scenario, the file, or the cluster, for the screen.
        seed, spec, release: the seed, cluster, and release of the run.
        scenario: the function that returns the state of the scenario, or None if the session has no scenario.
        notes: messages about problems with an import or with an old session.
        own_process: whether the playground has the process to itself, so that it can control the garbage collector.
        record: the file to which the session is saved as a script when it ends, or None.
        read_only: whether the session refuses acts.
        log: the file to which the event log is written during the session, or None.
        header: the function that returns the first line of the event log.
        under: the function that starts the same cluster or scenario again under a given release.
        varied: the function that starts the same cluster or scenario again with other settings.
        history: the history of the metrics.
        player: the lesson to play, or None.
        first_page: the page that is open at the start; empty for the overview.
        search: the search for harmful faults from a moment of the session.
    """

    session: Session
    title: str
    seed: int
    spec: ClusterSpec
    release: Release
    scenario: Callable[[], ScenarioState | None]
    notes: tuple[str, ...] = ()
    own_process: bool = False
    record: Path | None = None
    read_only: bool = False
    log: Path | None = None
    header: Callable[[], Header] = attrs.field(kw_only=True)
    under: Callable[[Release], PlayableFactory] = attrs.field(kw_only=True)
    varied: Callable[[VariedRun], PlayableFactory] = attrs.field(kw_only=True)
    history: MetricsHistory = attrs.field(factory=MetricsHistory)
    player: Player | None = None
    first_page: str = ""
    search: SessionSearch = attrs.field(
        default=attrs.Factory(lambda self: SessionSearch(self.session.history, self.spec, self.release, self.seed), takes_self=True)
    )

    def script(self, name: str) -> str:
        """Return the session up to the current moment as a script that produces the same events."""
        from scenarios.logs.recorded_session import session_script

        session = self.session
        session.history.record_branch_end()
        notes = [
            (mark.position.time, mark.note)
            for mark in session.history.bookmarks
            if mark.note and mark.branch == session.history.branch.name
        ]
        return session_script(
            self.spec, self.release, self.seed, session.history.branch.timed_acts(), session.history.end.time, name=name, notes=notes
        )

    def save(self, path: Path) -> None:
        """Write the session as a script.

        Raises:
            InputError: the file cannot be written.
        """
        write_atomically(path, self.script(script_name(path)))


def script_name(path: Path) -> str:
    """Return the name of the scenario that is saved to a given path."""
    kept = "".join(char if char.isalnum() or char in "-_." else "-" for char in path.stem)
    return kept[:80] or "session"


def load_session(target: PlayTarget | None, *, own_process: bool = False) -> LoadedSession:
    """Build the session for a target. If the target is None, build the default cluster.

    Raises:
        ScriptError, ValueError, KafkaError: the cluster cannot be built.
        InputError: the event log cannot be written.
    """
    free = target is None or target.spec is None
    chosen = target if target is not None else PlayTarget(None, None, CURRENT)
    spec = (DEFAULT_SPEC if chosen.spec is None else chosen.spec).with_features(chosen.features)
    scenario = None if chosen.scenario is None else chosen.scenario.with_features(chosen.features)
    name = script_name(chosen.record) if chosen.record is not None else None if scenario is None else scenario.name

    def header() -> Header:
        from scenarios.logs.log_header import make_header

        return make_header(spec, chosen.release, chosen.seed, name)

    writer = None
    if chosen.log is not None:
        from scenarios.logs.log_writer import LogWriter

        writer = LogWriter(chosen.log, header())

    def starting(played: Scenario | None, spec: ClusterSpec, release: Release) -> PlayableFactory:
        def start(sink: Callable[[EventTuple], None]) -> Playable:
            if played is not None:
                from scenarios.running.playable_scenario import PlayableScenario
                from scenarios.running.runner import Run

                return PlayableScenario(Run(played, release, chosen.seed, sink))
            return PlayableCluster(Cluster(spec, release, chosen.seed, sink))

        return start

    def under(release: Release) -> PlayableFactory:
        return starting(scenario, spec, release)

    def varied(run: VariedRun) -> PlayableFactory:
        return starting(None if scenario is None else run.scenario(scenario), run.spec, run.release)

    try:
        session = Session(under(chosen.release), log=writer)
        if writer is not None:
            writer.on_failure = session.history.notices.append
        if free:
            for act in DEFAULT_ACTS:
                session.history.do(act)
            session.history.forbid_undo_before()
        if chosen.old is not None:
            session.history.open_recording(chosen.old, read_only=chosen.read_only, at=chosen.at)
        if writer is not None:
            writer.begin()
    except BaseException:
        if writer is not None:
            writer.discard()
        raise

    def state() -> ScenarioState | None:
        if scenario is None:
            return None
        from scenarios.running.playable_scenario import PlayableScenario
        from tui.session.scenario_progress import scenario_state

        playable = session.history.replay_run.playable
        return scenario_state(playable.run) if isinstance(playable, PlayableScenario) else None

    title = chosen.title or (DEFAULT_TITLE if free else "")
    return LoadedSession(
        session, title, chosen.seed, spec, chosen.release, state, chosen.notes, own_process, chosen.record, chosen.read_only, chosen.log,
        header=header, under=under, varied=varied, player=chosen.player, first_page=chosen.first_page,
    )  # fmt: skip
