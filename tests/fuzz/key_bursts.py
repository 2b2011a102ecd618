"""Sends random bursts of keys to the playground, and checks that no traceback occurs and that nothing blocks it for ten seconds.

    python -m tests.fuzz.key_bursts --seconds 60 --seed 1
    python -m tests.fuzz.key_bursts --seed 1 --session 17        repeat one session

Several keys, pasted texts, clicks, and changes of size arrive in one read, as from a terminal, and pass through Textual's parser and
driver, so that many events are waiting before the first is handled. A session has a random kind of cluster, size of the terminal, and seed.
Its keys are drawn from the keys of actions, the keys that answer dialogs, and arbitrary other keys.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import faulthandler
import os
import random
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs
from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.drivers.headless_driver import HeadlessDriver
from textual.geometry import Size
from textual.keys import _character_to_key

from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab.spec import BrokerSpec, ClusterSpec
from scenarios import catalogue
from scenarios.logs.recorded_session import read_session
from scenarios.releases import release_named
from tui.actions.all_actions import ACTIONS
from tui.app.playground import Playground
from tui.main_screen.display_options import DisplayOptions
from tui.rendering.palette import PALETTES
from tui.session.loading import load_session
from tui.session.play_target import PlayTarget

SIZES: Final = ((80, 24), (120, 40), (200, 60), (40, 10), (100, 30), (5, 3), (80, 20), (160, 50))
"""The sizes of terminals, in columns and rows."""

MOST_KEYS: Final = 2_500
"""The maximum number of keys in a session. Sessions must be long enough to have a past, but short enough that many of them can be
played."""

TOO_LONG: Final = 10.0
"""The maximum processor time of a single step of the application, in seconds. During this time, the application does not react to keys."""

STUCK: Final = 300.0
"""The wall time in seconds after which a burst counts as endless: a traceback shows the position, and the program stops."""

PATIENCE: Final = 1.0
"""The wall time in seconds for which the program waits for a burst. An application that plays at full speed is never idle."""

LINES: Final = (
    "lost > 0", "isr(orders-0) < 2", "urp > 0 or lost > 0", "truncated", "12s", "1m30s", "#12", "#1", "#99999999999", "0", "orders", "b2", "offline",
    "acks", "session.yaml", "x.jsonl", "x.jsonl.zst", "/nowhere/x.yaml", "10", "4 5", "10 8", "-1", "999999999999999999999", "a" * 300, "\u202e\U0001f600é",
)  # fmt: skip
"""Lines that a user might type, valid and invalid."""


@attrs.define
class Report:
    """The result: the numbers of keys, bursts, and sessions, and the failures, each with the way to reproduce it."""

    seed: int
    cases: int = 0
    bursts: int = 0
    sessions: int = 0
    slowest: float = 0.0
    failures: list[str] = attrs.field(factory=list)

    def __str__(self) -> str:
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        said = (
            f"key bursts, seed {self.seed}: {self.cases:,} keys in {self.bursts:,} bursts and {self.sessions} sessions, "
            f"slowest step {self.slowest:.1f} s of processor time, largest process {grown} MB: {len(self.failures)} failed"
        )
        return "\n\n".join([said, *self.failures])


def _sequences() -> dict[str, str]:
    """Return the sequences that a terminal sends for a key, by Textual's name."""
    found: dict[str, str] = {}
    for sequence, keys in ANSI_SEQUENCES_KEYS.items():
        if isinstance(keys, tuple) and len(keys) == 1:
            found.setdefault(str(keys[0].value), sequence)
    for code in range(32, 127):
        found[_character_to_key(chr(code))] = chr(code)
    return found


SEQUENCES: Final = _sequences()
BOUND: Final = tuple(
    SEQUENCES[key] for action in ACTIONS if action.id != "quit" for key in action.keys if key in SEQUENCES and action.id != "picture"
)
MOVES: Final = tuple(SEQUENCES[key] for key in ("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "tab", "shift+tab"))
ANSWERS: Final = ("\r", "\x1b", "\r", "1", "2", "3", "0", "y", "n", "o", "s", "\x7f", " ", "\x1b\x1b")


def _key(draw: random.Random) -> str:
    """Return the sequence that one key sends."""
    sort = draw.random()
    if sort < 0.5:
        return draw.choice(BOUND)
    if sort < 0.66:
        return draw.choice(MOVES)
    if sort < 0.9:
        return draw.choice(ANSWERS)
    if sort < 0.97:
        return chr(draw.randrange(32, 127))
    if sort < 0.98:
        return draw.choice(("q", "\x03", "\x1a", "P"))
    return draw.choice((*SEQUENCES.values(), chr(draw.randrange(1, 0x2FFF)), "\x00", "\x1b[", "\x1b[<999999;1;1M"))


def _read(draw: random.Random, size: tuple[int, int]) -> tuple[str, int]:
    """Return the data that arrives in one read, and the number of keys in it."""
    sort = draw.random()
    if sort < 0.06:
        text = draw.choice((*LINES, "k", "q\n", "one\ntwo\r\n", "k" * draw.randrange(200)))
        return f"\x1b[200~{text}\x1b[201~", 1
    if sort < 0.14:
        x, y = draw.randrange(1, size[0] + 1), draw.randrange(1, size[1] + 1)
        button = draw.choice((0, 0, 0, 2, 1, 64, 65, 35))
        return f"\x1b[<{button};{x};{y}M" + ("" if button > 2 else f"\x1b[<{button};{x};{y}m"), 1
    if sort < 0.25:
        line = draw.choice(LINES)
        return draw.choice("wWgSB/pfbD") + line + draw.choice(("\r", "\r\r", "\x1b", "")), len(line) + 2
    if sort < 0.33:
        return draw.choice("12345678") + "".join(_key(draw) for _ in range(3)), 4
    count = draw.choice((1, 1, 2, 2, 3, 5, 8, 30))
    if draw.random() < 0.15:
        return _key(draw) * count, count
    return "".join(_key(draw) for _ in range(count)), count


def _free(draw: random.Random) -> PlayTarget | None:
    return None


def _old_release(draw: random.Random) -> PlayTarget:
    return PlayTarget(None, None, release_named(draw.choice(("0.10.2", "2.4", "2.8", "3.6"))), draw.randrange(100))


def _scenario(draw: random.Random) -> PlayTarget:
    script = catalogue.load(draw.choice(sorted(catalogue.names())))
    return PlayTarget(script, script.spec, release_named(script.releases[-1]), script.seed, title=script.name)


def _large(draw: random.Random) -> PlayTarget:
    brokers, partitions = draw.choice(((1, 3), (12, 100), (40, 600)))
    factor = min(3, brokers)
    spec = ClusterSpec(tuple(BrokerSpec(i) for i in range(1, brokers + 1)), (TopicSpec("orders", partitions, factor),))
    return PlayTarget(None, spec, CURRENT, draw.randrange(100), title="large")


def _empty(draw: random.Random) -> PlayTarget:
    return PlayTarget(None, ClusterSpec((BrokerSpec(1), BrokerSpec(2)), ()), CURRENT, title="nothing in it")


def _old(draw: random.Random) -> PlayTarget:
    path = Path("old.jsonl")
    if not path.exists():
        loaded = load_session(PlayTarget(None, None, CURRENT, log=path))
        loaded.session.history.replay_run.advance_to(3_000_000)
        loaded.session.history.close()
    old = read_session(path)
    return PlayTarget(
        None, old.spec, old.release, old.seed, title="old.jsonl", old=old, read_only=draw.random() < 0.5, at=draw.choice((-1, 1_000_000))
    )


TARGETS: Final[tuple[tuple[Callable[[random.Random], PlayTarget | None], int], ...]] = (
    (_free, 5), (_scenario, 4), (_old_release, 2), (_large, 2), (_empty, 1), (_old, 1),
)  # fmt: skip
"""The functions that create the sessions to play, each with its relative frequency."""


async def _handled(app: Playground, more: float) -> float:
    """Wait until the application has handled all input or the time limit has passed, and then for a few more seconds. Return the processor
    time of the longest step.
    """
    longest, until = 0.0, time.monotonic() + PATIENCE
    while True:
        worked = time.process_time()
        waits = app._message_queue.empty() or time.monotonic() > until or app._exception is not None
        await asyncio.sleep(more if waits else 0.001)
        longest = max(longest, time.process_time() - worked)
        if waits:
            return longest


async def _session(report: Report, number: int, until: float) -> None:
    """Play one session until it is left, has had enough keys, or the time is over. Add failures to the report."""
    draw = random.Random(f"{report.seed}:{number}")
    make = draw.choices([each for each, _ in TARGETS], [often for _, often in TARGETS])[0]
    size = draw.choice(SIZES)
    last: list[str] = []
    print(f"{report.cases:,} keys; session {number} ({make.__name__.strip('_')}, {size[0]}x{size[1]})", file=sys.__stderr__, flush=True)
    try:
        target = make(draw)
        app = Playground(
            load_session(target),
            DisplayOptions(ascii_only=draw.random() < 0.1, palette=draw.choice((*PALETTES, "dark")), slow_link=draw.random() < 0.1),
        )
        if draw.random() < 0.5:
            app.loaded.session.history.pause()
        async with app.run_test(size=size):
            driver = app._driver
            assert isinstance(driver, HeadlessDriver)
            parser = XTermParser()
            keys = 0
            while keys < MOST_KEYS and app.is_running and app._exception is None and time.monotonic() < until:
                read, count = _read(draw, size)
                last = [*last[-11:], read]
                took = 0.0
                for message in (*parser.feed(read), *parser.tick()):
                    driver.process_message(message)
                if draw.random() < 0.02:
                    size = draw.choice(SIZES)
                    last.append(f"{size[0]}x{size[1]}")
                    driver._size = Size(*size)
                    app.post_message(events.Resize(Size(*size), Size(*size)))
                faulthandler.dump_traceback_later(STUCK, exit=True, file=sys.__stderr__)
                if draw.random() < 0.8:
                    took = await _handled(app, draw.choice((0.0, 0.002, 0.02)))
                elif draw.random() < 0.5:
                    await asyncio.sleep(0)
                report.slowest = max(report.slowest, took)
                if took > TOO_LONG:
                    raise TimeoutError(f"one step took {took:.1f} s of processor time")
                keys += count
                report.cases += count
                report.bursts += 1
        if app.failure:
            raise RuntimeError(app.failure)
    except Exception:
        report.failures.append(
            f"session {number} ({make.__name__.strip('_')}, {size[0]}x{size[1]}), after {last!r}:\n{traceback.format_exc()}"
            f"again: python -m tests.fuzz.key_bursts --seed {report.seed} --session {number}"
        )
    faulthandler.cancel_dump_traceback_later()
    report.sessions += 1


def run(seconds: float, seed: int, *, session: int | None = None, keys: int = 0) -> Report:
    """Play sessions for the given wall time in seconds, and until the given number of keys is reached. If `session` is given, play only
    that session, completely.

    Files that are saved in the meantime go to a scratch directory.
    """
    report = Report(seed)
    until = time.monotonic() + seconds
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        try:
            numbers = [session] if session is not None else range(sys.maxsize)
            for number in numbers:
                with contextlib.suppress(asyncio.CancelledError):
                    asyncio.run(_session(report, number, until if session is None and not keys else float("inf")))
                if time.monotonic() >= until and report.cases >= keys:
                    break
        finally:
            os.chdir(before)
    return report


def main() -> int:
    """Run the command. The exit code is 1 if anything failed."""
    parser = argparse.ArgumentParser(description="random bursts of keys against the playground")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--session", type=int, help="play only the session of the seed that has this number")
    parser.add_argument("--keys", type=int, default=0, help="continue until this number of keys is reached")
    arguments = parser.parse_args()
    report = run(arguments.seconds, arguments.seed, session=arguments.session, keys=arguments.keys)
    print(report)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
