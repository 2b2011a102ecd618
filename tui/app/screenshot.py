"""Draws the playground to an SVG file without a terminal: `python -m tui.app.screenshot OUT.svg --seconds 30 --kill 2@10`.

The screen and the session are those of the playground. Each frame advances the session by a fixed amount of virtual time, so that the same
arguments always produce the same picture.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from core.kafka.release import CURRENT, Release
from core.lab.acts import Act, Isolate, Kill, Pause, Start
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.errors import InputError
from scenarios.io.output_files import write_atomically
from scenarios.io.standard_streams import print_messages
from scenarios.language.script import releases_of
from tui.app.playground import Playground
from tui.main_screen.display_options import DisplayOptions
from tui.rendering.palette import PALETTES
from tui.session.loading import LoadedSession, load_session
from tui.session.play_target import PlayTarget

_AT = re.compile(r"(\d+)@(\d+(?:\.\d+)?)")
_SIZE = re.compile(r"(\d{2,3})x(\d{2,3})")


def _timed(text: str) -> tuple[int, int]:
    """Parse text such as `2@10` (broker 2 at second 10), and return the broker and the time in µs."""
    match = _AT.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form B@S; write, for example, 2@10")
    return int(match[1]), int(float(match[2]) * SECOND)


def _size(text: str) -> tuple[int, int]:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size; write, for example, 120x40")
    return int(match[1]), int(match[2])


def play_to(loaded: LoadedSession, until: int, timed: Sequence[tuple[int, Act]]) -> None:
    """Run a session up to a virtual time in µs, and perform each act at its time.

    Raises:
        ActRefused: an act is impossible at its time.
    """
    session = loaded.session
    for time, act in sorted(timed, key=lambda pair: pair[0]):
        if time <= until:
            _frames(loaded, time)
            session.history.do(act)
    _frames(loaded, until)


def _frames(loaded: LoadedSession, until: int) -> None:
    """Run a session to a virtual time in µs, in frames of a quarter of a virtual second."""
    session = loaded.session
    while (now := session.history.view().now) < until:
        session.history.replay_run.advance_to(min(until, now + SECOND // 4))
        loaded.history.observe(session.history.view(), session.history.branch.name, session.history.branch.origin)


async def draw(app: Playground, size: tuple[int, int], keys: Sequence[str], title: str) -> str:
    """Press keys in the application, and return its screen as SVG."""
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        if keys:
            await pilot.press(*keys)
        await pilot.pause()
        return app.export_screenshot(title=title)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tui.app.screenshot", description="Draw the playground as an SVG picture.")
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--size", type=_size, default=(120, 40), help="columns and rows, for example 120x40")
    parser.add_argument("--seconds", type=float, default=30.0, help="the number of virtual seconds to play before the picture is drawn")
    parser.add_argument("--scenario", help="a scenario from the library, or a file")
    parser.add_argument("--release", help="the Kafka release to run")
    parser.add_argument("--steps", type=int, help="the number of scenario steps to run, instead of --seconds")
    parser.add_argument("--kill", type=_timed, action="append", default=[], metavar="B@S", help="kill broker B at second S")
    parser.add_argument("--start", type=_timed, action="append", default=[], metavar="B@S", help="start broker B at second S")
    parser.add_argument("--pause", type=_timed, action="append", default=[], metavar="B@S", help="freeze broker B at second S")
    parser.add_argument("--isolate", type=_timed, action="append", default=[], metavar="B@S", help="cut broker B off at second S")
    parser.add_argument("--keys", default="", help="the keys to press at the end: Textual's names, separated by commas")
    parser.add_argument("--ascii", action="store_true", help="use ASCII instead of glyphs")
    parser.add_argument("--no-color", action="store_true", help="use no colors")
    parser.add_argument("--palette", choices=sorted(PALETTES), default="dark", help="the palette")
    options = parser.parse_args(arguments)
    try:
        loaded = load_session(_target(options.scenario, options.release))
    except (InputError, ValueError) as wrong:
        print_messages(f"tui.app.screenshot: {wrong}")
        return 2
    timed: list[tuple[int, Act]] = [(at, Kill(broker)) for broker, at in options.kill]
    timed += [(at, Start(broker)) for broker, at in options.start]
    timed += [(at, Pause(broker)) for broker, at in options.pause]
    timed += [(at, Isolate(f"b{broker}")) for broker, at in options.isolate]
    try:
        if options.steps is None:
            play_to(loaded, int(options.seconds * SECOND), timed)
        for _ in range(options.steps or 0):
            loaded.session.history.replay_run.step()
    except ActRefused as refusal:
        print_messages(f"tui.app.screenshot: {refusal}")
        return 2
    loaded.session.history.pause()
    app = Playground(loaded, DisplayOptions(ascii_only=options.ascii, palette="plain" if options.no_color else options.palette))
    keys = [key for key in options.keys.split(",") if key]
    svg = asyncio.run(draw(app, options.size, keys, "isrlab"))
    try:
        write_atomically(options.out, without_fonts(svg))
    except InputError as wrong:
        print_messages(f"tui.app.screenshot: {wrong}")
        return 2
    return 0


def _target(scenario: str | None, release: str | None) -> PlayTarget:
    """Return what the playground opens for a scenario and a release.

    Raises:
        InputError, ValueError: the scenario or the release does not exist.
    """
    if scenario is None:
        return PlayTarget(None, None, Release.named(release) if release else CURRENT)
    script = catalogue.load(scenario)
    return PlayTarget(
        script, script.spec, releases_of(script, (Release.named(release),) if release else ())[-1], script.seed, title=script.name
    )


def without_fonts(svg: str) -> str:
    """Replace the web fonts that Rich writes into a picture with monospaced fonts of common operating systems."""
    bare = re.sub(r"<!--.*?-->\s*|@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
    return bare.replace("Fira Code", "Fira Code, Menlo, DejaVu Sans Mono, Consolas")


if __name__ == "__main__":
    sys.exit(main())
