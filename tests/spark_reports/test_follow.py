"""`isrlab report --follow`: the page while a session runs, when it ends, and when the command is stopped."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scenarios.io.termination_signals import Terminated
from spark_reports import follow
from spark_reports.output import html
from spark_reports.tables.result import Report, Result
from tests.spark_reports.conftest import Reported
from tests.spark_reports.event_logs import event, log_text
from tui.cli import main

EVENTS = [event(t, "broker-paused", broker=1) for t in range(0, 6_000_000, 1_000_000)]
RELOAD = '<meta http-equiv="refresh" content="1e-09">'


class Session:
    """A session that writes its log while the command waits.

    Attributes:
        log: the log.
        steps: what happens each time that the command waits.
    """

    def __init__(self, log: Path, steps: list[Callable[[], object]]) -> None:
        self.log = log
        self.steps = iter(steps)

    def __call__(self, _seconds: float) -> None:
        next(self.steps)()

    def followed(self, page: Path) -> int:
        return follow.follow_logs([self.log], page, 1e-9, wait=self)


@pytest.mark.spark
@pytest.mark.slow
def test_the_page_follows_a_session_and_ends_as_the_report_of_its_log(
    spark: Any, follower_killed: Reported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "spark_session", lambda *_, **__: contextlib.nullcontext(spark))
    log, page, whole = tmp_path / follower_killed.log.name, tmp_path / "page.html", follower_killed.log.read_bytes()
    # The piece ends in the middle of the fourth line.
    log.write_bytes(b"\n".join(whole.split(b"\n")[:4])[:-9])
    pages: list[str] = []

    def end() -> None:
        pages.append(page.read_text())
        log.write_bytes(whole)

    assert Session(log, [end]).followed(page) == 0
    assert RELOAD in pages[0]
    assert "This session is still running" in pages[0]
    assert "2 events" in pages[0]
    assert page.read_text() == html.render(follower_killed.report)
    assert RELOAD not in page.read_text()


def test_a_page_is_made_when_the_log_has_grown_and_stays_when_the_command_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log, page, whole = tmp_path / "s.jsonl", tmp_path / "page.html", log_text(EVENTS, None)
    seen: list[str] = []

    def summarise(logs: list[Any], *_: Any, **__: Any) -> tuple[Report, int]:
        (only,) = logs
        columns = ("session", "release", "events", "end_us")
        sessions = Result("sessions", "Sessions", "", columns, [(only.session, only.release, only.events, only.end_us)])
        return Report([sessions, sessions], {"events": only.events, "end_us": only.end_us}), 0

    def stop() -> None:
        raise Terminated(signal.SIGINT)

    spark = type("Spark", (), {"_jvm": None, "catalog": type("Catalog", (), {"clearCache": lambda: None})})
    monkeypatch.setattr(follow, "spark_session", lambda *_, **__: contextlib.nullcontext(spark))
    monkeypatch.setattr(follow, "summarise", summarise)
    log.touch()
    steps = [
        lambda: log.write_text(whole[: whole.index('"t": 3000000')]),
        lambda: seen.append(page.read_text()),
        lambda: log.write_text(whole),
        # The session has gone back in time.
        lambda: log.write_text(whole[: whole.index('"t": 2000000')]),
        stop,
    ]
    with pytest.raises(Terminated):
        Session(log, steps).followed(page)
    said = [line for line in capsys.readouterr().err.splitlines() if "page.html" in line]
    assert [line.partition("page.html")[2] for line in said] == [
        ": 3 events, 2s", ": 6 events, 5s", ": 2 events, 1s", " shows the sessions up to 2 events, 1s",
    ]  # fmt: skip
    assert RELOAD in seen[0]
    assert RELOAD not in page.read_text()
    assert "still running" not in page.read_text()


@pytest.mark.parametrize(
    ("master", "said"), [("spark://host:7077", "--follow runs Spark on this machine"), (None, "there.jsonl: cannot read this file")]
)
def test_what_cannot_be_followed_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str], master: str | None, said: str) -> None:
    assert follow.follow_logs([tmp_path / "there.jsonl"], tmp_path / "page.html", 1, master) == 2
    told = capsys.readouterr().err
    assert (said in told, told.count("\n")) == (True, 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--follow"], "--follow needs --html FILE"),
        (["--follow", "--html", "p.html", "--json"], "--follow needs --html FILE, and no other output"),
        (["--follow", "--html", "p.html", "--every", "soon"], "--every: 'soon' is not a time"),
    ],
)
def test_options_that_do_not_fit_are_refused(capsys: pytest.CaptureFixture[str], options: list[str], said: str) -> None:
    assert main(["report", "s.jsonl", *options]) == 2
    assert said in capsys.readouterr().err
