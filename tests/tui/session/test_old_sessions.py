"""Opening an old session from its event log: the same events back and forth, branches, and the message if a log does not match its replay."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from core.kafka.errors import KafkaError
from core.kafka.events import DETAIL
from core.kafka.release import CURRENT
from core.lab.acts import Kill, Load, Start
from core.lab.history.destination import Destination
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios.logs.log_reader import read_events
from scenarios.logs.recorded_session import read_session
from scenarios.logs.replay import replay
from tests.core.lab.history.sessions import SMALL, an_act
from tests.tui.app.test_playground import done, playing, said, screen_text
from tests.tui.session.test_history import arrive, events, session_of
from tui.arguments.sources import looks_like_log
from tui.cli import main
from tui.session.loading import LoadedSession, load_session
from tui.session.play_target import PlayTarget


def opened(path: Path, **wanted: Any) -> LoadedSession:
    """Return the session of a log, played to its end."""
    old = read_session(path)
    loaded = load_session(PlayTarget(None, old.spec, old.release, old.seed, old=old, **wanted))
    arrive(loaded.session)
    return loaded


def a_session(path: Path, seed: int = 7, acts: int = 12) -> None:
    """Write the log of a session with several acts."""
    loaded = session_of(log=path)
    session, dice = loaded.session, random.Random(f"{seed}:life")
    session.history.do(Load("orders", 40, acks="all"))
    for _ in range(acts):
        session.history.replay_run.advance_to(session.history.cluster.now + dice.randint(1, 2 * SECOND))
        with contextlib.suppress(ActRefused, KafkaError):
            session.history.do(an_act(dice))
    session.history.replay_run.advance_to(session.history.cluster.now + SECOND)
    session.history.close()


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("e1-data-loss", "0.10.2"),
        ("f2-min-isr-2-two-down", "4.1"),
        ("b2-high-watermark", "4.1"),
        ("d8-paused-controller", "2.4"),
        ("d6-unclean-election-on", "4.1"),
    ],
)
def test_a_scenarios_log_is_opened_as_it_was_and_saves_itself(name: str, release: str, tmp_path: Path) -> None:
    log, again = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    main(["run", name, "--release", release, "--log", str(log)])
    loaded = opened(log)
    recorded = read_events(log)[1]
    assert not loaded.session.history.notices
    assert events(loaded.session) == recorded
    assert loaded.session.history.branch.end.seq == len(recorded)

    middle = recorded[len(recorded) // 2][0]
    loaded.session.history.go_to(Destination("the middle", seq=middle))
    arrive(loaded.session)
    assert loaded.session.history.in_the_past
    assert [event for event in recorded if event[0] <= loaded.session.history.replay_run.event_tap.seq] == events(loaded.session)
    loaded.session.history.go_to_end()
    arrive(loaded.session)
    assert events(loaded.session) == recorded

    loaded.save(tmp_path / f"{name}.yaml")
    assert main(["run", str(tmp_path / f"{name}.yaml"), "--log", str(again)]) == 0
    assert again.read_bytes() == log.read_bytes()


@pytest.mark.parametrize("seed", range(4))
def test_a_playgrounds_log_is_opened_as_it_was_and_records_itself(seed: int, tmp_path: Path) -> None:
    log, script, again = tmp_path / "session.jsonl", tmp_path / "session.yaml", tmp_path / "again.jsonl"
    a_session(log, seed)
    loaded = opened(log, record=script)
    assert not loaded.session.history.notices
    assert events(loaded.session) == read_events(log)[1]
    loaded.session.history.close()
    loaded.save(script)
    assert main(["run", str(script), "--log", str(again)]) == 0
    assert again.read_bytes().split(b"\n")[1:] == log.read_bytes().split(b"\n")[1:]


def test_acting_in_an_old_session_begins_a_branch_and_keeps_its_future(tmp_path: Path) -> None:
    log, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    a_session(log)
    loaded = opened(log, log=other)
    session, recorded = loaded.session, read_events(log)[1]
    session.history.go_to(Destination("4 s", time=4 * SECOND))
    arrive(session)
    parting = session.history.replay_run.event_tap.seq
    session.history.do(Kill(2))
    assert [branch.name for branch in session.history.branches] == ["main", "branch 2"]
    session.history.go_to_branch(session.history.branches[0])
    arrive(session)
    assert events(session) == recorded
    session.history.go_to_branch(session.history.branches[1])
    arrive(session)
    session.history.close()
    assert read_events(other)[1][:parting] == recorded[:parting]
    assert read_events(other)[1] != recorded
    assert read_events(log)[1] == recorded


def test_a_packed_log_is_opened_and_a_branch_of_it_written_packed(tmp_path: Path) -> None:
    log, packed, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl.zst", tmp_path / "c.jsonl.zst"
    a_session(log)
    a_session(packed)
    assert packed.stat().st_size < log.stat().st_size / 4
    recorded = read_events(log)[1]
    loaded = opened(packed, log=other)
    assert not loaded.session.history.notices
    assert events(loaded.session) == recorded
    loaded.session.history.go_to(Destination("4 s", time=4 * SECOND))
    arrive(loaded.session)
    loaded.session.history.do(Kill(2))
    loaded.session.history.close()
    assert read_events(other)[1] == events(loaded.session) != recorded


@pytest.mark.parametrize("name", ["s.jsonl.zst", "renamed"])
def test_the_playground_is_pointed_at_a_packed_log(name: str, tmp_path: Path) -> None:
    a_session(tmp_path / "s.jsonl.zst", acts=2)
    path = (tmp_path / "s.jsonl.zst").rename(tmp_path / name)
    assert looks_like_log(str(path))
    assert not looks_like_log(str(tmp_path / "none"))


def test_it_is_opened_at_a_moment(tmp_path: Path) -> None:
    a_session(tmp_path / "a.jsonl")
    session = opened(tmp_path / "a.jsonl", at=3 * SECOND).session
    assert session.history.cluster.now == 3 * SECOND
    assert session.history.in_the_past
    assert session.history.end.seq == len(read_events(tmp_path / "a.jsonl")[1])


async def test_read_only_is_only_looked_at(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    a_session(log)
    old = read_session(log)
    target = PlayTarget(None, old.spec, old.release, old.seed, title="a.jsonl", old=old, read_only=True)
    async with playing(target, until=0) as (app, main_screen, pilot):
        main_screen.session.history.open_recording(old, read_only=True)
        while main_screen.session.history.task_target:
            main_screen.session.playback.frame(0.05)
        main_screen.refresh_view()
        end = main_screen.session.history.end
        for key in ("k", "c", "u", "p"):
            await pilot.press(key)
            assert "the session is read-only" in said(app, main_screen)
        main_screen.prompts.say("")
        await pilot.press("6", "enter")
        assert app.screen is main_screen, "no value is asked for that nobody may set"
        assert "the session is read-only" in said(app, main_screen)
        await pilot.press("escape", "space")
        for _ in range(5):
            main_screen.session.playback.frame(0.25)
        await pilot.press("n", "N")
        while main_screen.session.history.task_target:
            main_screen.session.playback.frame(0.05)
        assert main_screen.session.history.end == end
        await pilot.press("comma")
        while main_screen.session.history.task_target:
            main_screen.session.playback.frame(0.05)
        main_screen.refresh_view()
        assert main_screen.session.history.in_the_past
        assert "before the end" in screen_text(app)
        assert done(main_screen)


def test_a_log_that_is_not_true_is_shown_up_to_there(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    a_session(log)
    lines = log.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if number > 30 and '"append"' in line)
    changed = json.loads(lines[at])
    changed["to_offset"] += 1
    lines[at] = json.dumps(changed, separators=(",", ":"))
    log.write_text("\n".join(lines) + "\n")
    session = opened(log).session
    assert len(session.history.notices) == 1
    assert session.history.notices[0].startswith(f"{log}:{at + 1}: in the replay, event {at}, ")
    assert f"to_offset is {changed['to_offset']} in the log, {changed['to_offset'] - 1} now" in session.history.notices[0]
    assert session.history.notices[0].endswith("; the session is shown up to that point")
    assert at <= session.history.end.seq < at + 20


def test_an_act_that_is_now_refused_is_reported(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    loaded = session_of(log=log)
    loaded.session.history.replay_run.advance_to(SECOND)
    loaded.session.history.do(Kill(1))
    loaded.session.history.do(Start(1))
    loaded.session.history.close()
    log.write_text(log.read_text().replace('"act","act":"kill"', '"act","act":"start"'))
    session = opened(log).session
    assert session.history.notices
    assert "the replay refuses start: broker 1 is running" in session.history.notices[0]


def test_a_killed_sessions_log_is_opened_as_far_as_it_goes(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    a_session(log)
    whole = log.read_bytes().splitlines(keepends=True)
    for kept in (1, 2, 40, len(whole) - 2):
        log.write_bytes(b"".join(whole[:kept]) + whole[kept][:20])
        old = read_session(log)
        assert "the last line is incomplete" in old.problem
        loaded = load_session(PlayTarget(None, old.spec, old.release, old.seed, old=old))
        arrive(loaded.session)
        assert not loaded.session.history.notices
        assert events(loaded.session)[: len(old.events)] == list(old.events)


def test_opening_can_be_given_up_and_what_was_played_stays(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    a_session(log, acts=40)
    old = read_session(log)
    loaded = load_session(PlayTarget(None, old.spec, old.release, old.seed, old=old))
    session = loaded.session
    session.history.task.advance(lambda: True)  # type: ignore[union-attr]
    assert 0 < session.history.progress < 1  # type: ignore[operator]
    session.history.pause()
    assert session.history.task_target is None
    assert session.history.notices[0].endswith("the replay stopped; the session is shown up to that point")
    assert events(session) == list(old.events[: len(events(session))])
    session.history.step()
    arrive(session)
    assert session.history.event_buffer.ring(DETAIL).total > 0
    assert loaded.release == CURRENT
    assert loaded.spec == SMALL


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            ["LOG", "--release", "3.6"],
            "--release: an old session plays as it was recorded; to change the session, save it as a script (--record FILE), and run the script",
        ),
        (
            ["LOG", "--seed", "3"],
            "--seed: an old session plays as it was recorded; to change the session, save it as a script (--record FILE), and run the script",
        ),
        (["LOG", "--at", "3h"], "--at: 3h is past the end of LOG, which is "),
        (["LOG", "--at", "soon"], "--at: "),
        (["LOG", "--log", "LOG"], "--log: LOG is an input of this command; name another file"),
        (["LOG", "--record", "LOG"], "--record: LOG is an input of this command; name another file"),
        (
            ["--record", "a.jsonl.zst", "--log", "b.jsonl"],
            "--record: a.jsonl.zst is an event log, and so is --log; use only one of them",
        ),
        (["--read-only"], "--read-only: needs the event log of an old session; name one"),
        (["e1-data-loss", "--at", "2s"], "--at: needs the event log of an old session; name one"),
    ],
)
def test_wrong_options_are_reported(given: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "a.jsonl"
    a_session(log, acts=1)
    before = log.read_bytes()
    assert main(["play", *(one.replace("LOG", str(log)) for one in given)]) == 2
    assert capsys.readouterr().err.startswith(f"isrlab: {told.replace('LOG', str(log))}")
    assert log.read_bytes() == before


def test_a_session_is_recorded_as_the_log_that_its_file_name_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "x.jsonl.zst"
    opened_with = []
    monkeypatch.setattr("tui.app.playground.run_app", lambda target, display: opened_with.append(target) or 0)
    monkeypatch.setenv("TEXTUAL_DRIVER", "none")
    assert main(["play", "--record", str(packed)]) == 0
    (target,) = opened_with
    assert (target.log, target.record) == (packed, None)
    loaded = load_session(target)
    loaded.session.history.replay_run.advance_to(SECOND)
    loaded.session.history.close()
    assert replay(packed).same
