"""Time travel from Python, without a terminal: open a cluster, play, step back, branch, replay, stop when a condition holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from core.kafka.topic_spec import TopicSpec
from core.lab.acts import Kill, Load, Start
from core.lab.history.destination import Destination
from core.lab.history.history import History
from core.lab.history.watchpoints import BecomesTrue
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND

SPEC = ClusterSpec(tuple(BrokerSpec(i) for i in (1, 2, 3)), (TopicSpec("orders", partitions=2, replication_factor=3),))


def test_a_cluster_is_played_gone_back_on_and_branched() -> None:
    history = History.of(SPEC, seed=7)
    history.do(Load("orders", rate=100))
    history.run_until(5 * SECOND)
    history.do(Kill(1))
    history.run_until(20 * SECOND)
    view, events = history.view(), history.events()

    history.step_back()  # to before the last event
    assert history.in_the_past
    assert history.events() == events[: len(history.events())]
    assert len(history.events()) < len(events)

    history.go_to(Destination(time=4 * SECOND))  # or Destination(seq=120): the moment of an event
    assert history.view().now == 4 * SECOND

    history.go_to_end()  # what was done is done again, byte for byte
    assert (history.view(), history.events()) == (view, events)

    history.go_to(Destination(time=4 * SECOND))
    history.do(Kill(2))  # acting in the past begins a branch; the old future is kept
    assert [branch.name for branch in history.branches] == ["main", "branch 2"]
    history.run_until(20 * SECOND)
    assert history.view() != view

    history.go_to_branch(history.branches[0])
    assert (history.view(), history.events()) == (view, events)


def test_it_stops_when_a_condition_holds() -> None:
    history = History.of(SPEC)
    history.do(Kill(1))
    shrunk = BecomesTrue(lambda cluster: any(len(p.isr) == 2 for p in cluster.view().partitions))
    assert history.stop_when(shrunk).found
    moment = history.replay_run.position
    history.do(Start(1))
    history.run_until(60 * SECOND)

    again = BecomesTrue(lambda cluster: any(len(p.isr) == 2 for p in cluster.view().partitions))
    assert history.back_to_when(again).found  # the last such moment
    assert history.replay_run.position.seq >= moment.seq

    never = BecomesTrue(lambda cluster: cluster.view().lost > 0)
    assert not history.stop_when(never).found


def test_what_was_done_is_undone_and_done_again() -> None:
    history = History.of(SPEC)
    history.run_until(SECOND)
    history.do(Kill(1))
    history.run_until(2 * SECOND)
    view = history.view()
    history.undo()
    assert history.view().now == SECOND
    assert history.act_to_redo() is not None
    history.redo()
    history.go_to_end()
    assert history.view() == view


def test_it_needs_the_standard_library_and_attrs_only() -> None:
    script = f"import sys, runpy\nsys.path.insert(0, {str(Path(__file__).parents[4])!r})\n"
    script += "from core.lab.history.history import History\nfrom core.lab.spec import BrokerSpec, ClusterSpec\n"
    script += "history = History.of(ClusterSpec((BrokerSpec(1),)))\nhistory.run_until(1_000_000)\nhistory.step_back()\n"
    script += "assert not {'textual', 'rich', 'scenarios', 'tui', 'msgspec', 'yaml'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
