"""A replayed log of a session in which acts come at any moment is the same as the original, byte for byte. The library has a test of its own."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec
import pytest
import yaml

from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT, RELEASES, Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.act_handlers import act_arguments
from core.lab.cluster import Cluster
from core.lab.recorded_acts import recorded_act
from core.lab.spec import BrokerSpec, ClusterSpec, ControlPlane, NetworkSpec, Pace
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios.errors import LogError
from scenarios.logs.log_header import End, make_header
from scenarios.logs.log_writer import LogWriter
from scenarios.logs.recorded_session import read_session, session_script
from scenarios.logs.replay import lines_of, replay
from tui.cli import main

SAMPLES: dict[str, Any] = {
    "int": 7,
    "str": "word",
    "bool": True,
    "TopicPartition": TopicPartition("a-b", 3),
    "tuple[str, str]": ("b1", "controller"),
    "tuple[str, ...]": ("orders", "logs"),
    "tuple[int, ...]": (3, 1),
    "tuple[tuple[int, ...], ...]": ((1, 2), (2,)),
    "tuple[tuple[str, str], ...]": (("min.insync.replicas", "2"),),
    "tuple[tuple[TopicPartition, int], ...]": ((TopicPartition("a-b", 3), 12),),
}


@pytest.mark.parametrize("act", acts.ACTS.values(), ids=list(acts.ACTS))
def test_an_act_is_read_back_as_it_was(act: type[acts.Act]) -> None:
    fields = attrs.fields(act)
    whole = act(**{field.name: SAMPLES[str(field.type).removesuffix(" | None")] for field in fields})
    least = act(**{field.name: SAMPLES[str(field.type)] for field in fields if field.default is attrs.NOTHING})
    for one in (whole, least):
        assert recorded_act(act.word, act_arguments(one)) == one


@pytest.mark.parametrize(
    ("word", "args", "said"),
    [
        ("kil", "{}", "no act 'kil'"),
        ("kill", "[1]", "not a JSON object"),
        ("kill", '{"broker":"1"}', 'broker cannot be "1"'),
        ("kill", "{}", "kill lacks broker"),
        ("cut", '{"between":"b1"}', 'between cannot be "b1"'),
        ("kill", '{"broker":1,"when":2}', "no field 'when'"),
    ],
)
def test_what_is_no_act_is_refused(word: str, args: str, said: str) -> None:
    with pytest.raises(ValueError, match=word) as refused:
        recorded_act(word, args)
    assert said in str(refused.value)


Ending = tuple[int, int]
"""A point at which a session may have been closed: the number of events, and the virtual time."""


def session(path: Path, seed: int, release: Release, control_plane: ControlPlane) -> list[Ending]:
    """Play a session as a user at the keyboard does: steps, runs, and acts at any moment, even between two events of one moment.

    Return every point, after each step and act, at which the session might have been closed.
    """
    draw = random.Random(f"{seed}:session")
    by_hand = draw.random() < 0.3
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in range(1, draw.randint(4, 6))),
        (TopicSpec("t", draw.randint(1, 3), 3),),
        settings=(("min.insync.replicas", draw.randint(1, 2)), ("unclean.leader.election.enable", draw.random() < 0.5)),
        network=NetworkSpec(latency=draw.choice((500, 20_000)), jitter=draw.choice((0, 1_000)), loss_ppm=draw.choice((0, 10_000))),
        pace=Pace.BY_HAND if by_hand else Pace.TIMELINE,
        control_plane=control_plane,
    )
    endings: list[Ending] = []
    writer = LogWriter(path, make_header(spec, release, seed, None))
    cluster = Cluster(spec, release, seed, writer)
    possible: list[Callable[[], acts.Act]] = [
        lambda: acts.Kill(draw.randint(1, 4)),
        lambda: acts.Start(draw.randint(1, 4)),
        lambda: acts.Shutdown(draw.randint(1, 4)),
        lambda: acts.PowerLoss(draw.randint(1, 4), ((TopicPartition("t", 0), draw.randint(0, 50)),)),
        lambda: acts.Pause(draw.randint(1, 4)),
        lambda: acts.Resume(draw.randint(1, 4)),
        lambda: acts.Isolate(f"b{draw.randint(1, 4)}"),
        lambda: acts.Heal(),
        lambda: acts.Link(("b1", "b2"), jitter=draw.choice((0, 100_000)), loss_ppm=draw.choice((0, 100_000))),
        lambda: acts.Produce("t", draw.randint(1, 40), acks=draw.choice(("0", "1", "all"))),
        lambda: acts.Load("t", 100),
        lambda: acts.Consume("t", f"reader{draw.randint(1, 3)}"),
        lambda: acts.Elect(draw.choice(("preferred", "unclean"))),
        lambda: acts.Set("replica.lag.time.max.ms", draw.choice(("1000", "30000")), force=True),
        lambda: acts.CreateTopic(f"u{draw.randint(0, 3)}", 2, 2, config=(("min.insync.replicas", "2"),)),
        lambda: acts.Fetch(draw.randint(1, 4)),
        lambda: acts.Bounce(draw.randint(1, 4), clean=draw.random() < 0.5),
    ]
    for _ in range(60):
        how = draw.random()
        if how < 0.4:
            cluster.run_until(cluster.now + draw.choice((0, 300, 500, 20_000, 1_000_000, 12_000_000)))
        elif how < 0.7:
            for _ in range(draw.randint(1, 30)):
                cluster.step()
                endings.append((cluster.journal.seq, cluster.now))
        else:
            with contextlib.suppress(ActRefused):
                cluster.do(draw.choice(possible)())
        endings.append((cluster.journal.seq, cluster.now))
    writer.close(cluster.now)
    return endings


SESSIONS: Final = 2 * len(RELEASES)
"""The number of random sessions: two under each release, one of which has the KRaft control plane."""


@pytest.mark.parametrize("seed", range(SESSIONS))
def test_a_random_session_replays(seed: int, tmp_path: Path) -> None:
    """This holds wherever the session was closed, even between two steps of one moment, and wherever its process was killed, even in the
    middle of a line.
    """
    release = list(RELEASES.values())[seed % len(RELEASES)]
    whole = tmp_path / "session.jsonl"
    endings = session(whole, seed, release, tuple(ControlPlane)[seed // len(RELEASES) % 2])
    replayed = replay(whole)
    assert replayed.same, "\n".join(lines_of(replayed))
    assert replayed.events == endings[-1][0] > 0

    lines = whole.read_bytes().split(b"\n")
    draw = random.Random(f"{seed}:endings")
    path = tmp_path / "cut.jsonl"
    for count, now in draw.sample(endings, 3):
        path.write_bytes(b"\n".join([*lines[: count + 1], msgspec.json.encode(End(True, now, count)), b""]))
        replayed = replay(path)
        assert replayed.same, f"closed after {count} events: " + "\n".join(lines_of(replayed))
        assert (replayed.events, replayed.time) == (count, now)
    killed = draw.randrange(1, len(lines) - 2)
    path.write_bytes(b"\n".join(lines[: killed + 1]) + b"\n" + lines[killed + 1][:9])
    replayed = replay(path)
    assert replayed.same, f"killed after {killed} events: " + "\n".join(lines_of(replayed))


KILL: Final = {"kill": {"broker": 1}}
START: Final = {"start": {"broker": 1}}


@pytest.mark.parametrize(
    ("pace", "steps"),
    [
        (Pace.TIMELINE, {"timeline": [{"at": "0us"} | KILL, {"at": "2s"} | START, {"at": "3s", "note": "the session ended here"}]}),
        (Pace.BY_HAND, {"steps": [KILL, {"wait": "2s"} | START, {"wait": "1s", "note": "the session ended here"}]}),
    ],
)
def test_a_recorded_session_is_a_timeline_unless_it_goes_by_hand(pace: Pace, steps: dict[str, Any]) -> None:
    spec = ClusterSpec((BrokerSpec(1), BrokerSpec(2)), pace=pace)
    script = yaml.safe_load(session_script(spec, CURRENT, 1, [(0, acts.Kill(1)), (2 * SECOND, acts.Start(1))], 3 * SECOND, name="s"))
    assert {key: script[key] for key in ("timeline", "steps") if key in script} == steps


def test_a_closed_log_that_lacks_its_last_events_differs(tmp_path: Path) -> None:
    """A step is executed completely or not at all: no session can be closed in the middle of a step, or before something that must have
    happened by its end.
    """
    path = tmp_path / "session.jsonl"
    endings = session(path, 3, RELEASES["2.4"], ControlPlane.BY_RELEASE)
    lines = path.read_bytes().split(b"\n")
    within = next(
        count for count in range(40, len(lines)) if all(count != end for end, _ in endings) and b'"cause":0,' not in lines[count + 1]
    )
    now = json.loads(lines[within])["t"]
    path.write_bytes(b"\n".join([*lines[: within + 1], msgspec.json.encode(End(True, now, within)), b""]))
    assert "more events before that" in lines_of(replay(path))[2]
    count, last = endings[-1]
    early = next(end for end, time in reversed(endings) if time < last - 1 and end < count)
    path.write_bytes(b"\n".join([*lines[: early + 1], msgspec.json.encode(End(True, last + 1, early)), b""]))
    assert "more events before that" in lines_of(replay(path))[2]


def test_an_act_that_isrlab_does_not_know_is_refused_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    assert main(["run", "e1-data-loss", "--release", "0.10.2", "--log", str(path)]) == 0
    lines = path.read_bytes().split(b"\n")
    line = next(number for number, line in enumerate(lines, start=1) if b'"act":"bounce"' in line)
    path.write_bytes(path.read_bytes().replace(b'"act":"bounce"', b'"act":"bonce"', 1))
    with pytest.raises(LogError, match=r"no act 'bonce'") as refused:
        read_session(path)
    assert (refused.value.line, str(refused.value).startswith(f"{path}:{line}: ")) == (line, True)


def test_the_first_difference_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "session.jsonl"
    assert main(["run", "e1-data-loss", "--release", "0.10.2", "--log", str(path)]) == 0
    assert main(["replay", str(path)]) == 0
    whole = path.read_bytes()
    lines = whole.split(b"\n")
    capsys.readouterr()

    cut = next(number for number, line in enumerate(lines) if b'"truncated"' in line)
    lines[cut] = lines[cut].replace(b'"from_offset":1', b'"from_offset":0')
    path.write_bytes(b"\n".join(lines))
    assert main(["replay", str(path)]) == 1
    out = capsys.readouterr().out
    assert f"{path}:{cut + 1}: after {cut - 1} identical events" in out
    assert "in the log  event 26 at 0s, truncated: b1 truncated orders-0 to 0" in out
    assert "replayed    event 26 at 0s, truncated: b1 truncated orders-0 to 1" in out

    header = json.loads(whole.split(b"\n")[0])
    assert header["release"] == "0.10.2"
    path.write_bytes(whole.replace(b'"release":"0.10.2"', b'"release":"0.11"', 1))
    assert main(["replay", str(path)]) == 1
    out = capsys.readouterr().out
    assert "in the log  event 26 at 0s, truncated: b1 truncated orders-0 to 1" in out
    assert "replayed    no such event up to that time" in out

    # An act that never was: what followed from it does not come out.
    without = [line for line in whole.split(b"\n") if b'"act":"bounce"' not in line]
    path.write_bytes(b"\n".join(without))
    assert main(["replay", str(path)]) == 2, "the seqs have a hole, so it is no log any more"
