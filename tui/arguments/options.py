"""The options that several commands share, and the functions that parse their values."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scenarios.io.standard_streams import print_messages

if TYPE_CHECKING:
    from core.kafka.release import Release
    from tui.main_screen.display_options import DisplayOptions


def add_run_options(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the options `--release` and `--seed`. If `several` is true, `--release` can be given several times."""
    about = "the Kafka release to run, for example 0.10.2, or '4.3 without GUARD' to remove a guard"
    if several:
        parser.add_argument(
            "--release",
            metavar="R",
            action="append",
            help=f"{about}; repeat this option to compare releases side by side and to see the first difference",
        )
    else:
        parser.add_argument("--release", metavar="R", help=about)
    parser.add_argument("--seed", metavar="N", help="the seed for all random choices")


def add_feature_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--feature`."""
    parser.add_argument(
        "--feature", metavar="NAME=LEVEL", action="append",
        help="a feature level other than the release's default, for example eligible.leader.replicas.version=0 for an upgraded cluster",
    )  # fmt: skip


def add_groups_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--groups`, which names files with the output of kafka-consumer-groups."""
    parser.add_argument(
        "--groups",
        metavar="FILE",
        action="append",
        default=[],
        help="with the output of kafka-topics --describe: the output of kafka-consumer-groups --describe, whose groups are added to the "
        "cluster; repeat this option for several files",
    )


def features_of(texts: Sequence[str] | None) -> tuple[tuple[str, int], ...]:
    """Parse the values of `--feature`, and return the names and levels."""
    from core.kafka.features import check_feature
    from scenarios.errors import InputError

    levels: dict[str, int] = {}
    for text in texts or ():
        name, equals, level = text.partition("=")
        if not equals or not (level.isascii() and level.isdecimal()) or len(level) > 9:
            raise InputError(
                f"--feature: '{text[:80]}' is not a feature level; write NAME=LEVEL, for example eligible.leader.replicas.version=0"
            )
        if name in levels:
            raise InputError(f"--feature: {name} is given twice; write one level for each feature")
        try:
            check_feature(name, int(level))
        except ValueError as wrong:
            raise InputError(f"--feature: {wrong}") from None
        levels[name] = int(level)
    return tuple(levels.items())


def add_spark_options(parser: argparse.ArgumentParser) -> None:
    """Add the options `--master` and `--conf`."""
    parser.add_argument(
        "--master", metavar="URL", help="the Spark master: local[N], local-cluster[…], spark://host:7077, or, for Spark Connect, sc://host"
    )
    parser.add_argument(
        "--conf", metavar="NAME=VALUE", action="append", default=[], help="a Spark setting; repeat this option for several settings"
    )


def release_of(text: str | None) -> Release | None:
    """Parse the value of `--release`."""
    from core.kafka.release import CURRENT
    from scenarios.errors import InputError
    from scenarios.releases import nearest_release

    if text is None:
        return None
    if text == "current":
        return CURRENT
    try:
        release, note = nearest_release(text)
    except ValueError as wrong:
        raise InputError(f"--release: {wrong}") from None
    if note:
        print_messages(note)
    return release


def seed_of(text: str | None) -> int | None:
    """Parse the value of `--seed`."""
    if text is None:
        return None
    from scenarios.errors import InputError
    from scenarios.language.script import MAX_SEED

    if not (text.isascii() and text.isdecimal()) or len(text) > 19 or int(text) > MAX_SEED:
        raise InputError(f"--seed: '{text[:40]}' is not a seed; write a whole number from 0 to {MAX_SEED}")
    return int(text)


def time_of(text: str | None, option: str = "--at") -> int | None:
    """Parse the value of `--at` or of another option with a time, and return the virtual time in µs."""
    from core.sim.units import parse_duration
    from scenarios.errors import InputError

    if text is None:
        return None
    from scenarios.language.values import MAX_DURATION

    try:
        time = parse_duration(text)
    except ValueError as wrong:
        raise InputError(f"{option}: {wrong}") from None
    if time > MAX_DURATION:
        raise InputError(f"{option}: '{text[:40]}' is too long; use at most ten years of virtual time (3650d)")
    return time


def log_files(paths: Sequence[str]) -> list[str]:
    """Return the paths of log files. A directory among the given paths is replaced by the event logs in that directory."""
    from scenarios.errors import InputError

    found: list[str] = []
    for path in paths:
        if not os.path.isdir(path):
            found.append(path)
            continue
        inside = sorted(name for name in os.listdir(path) if name.endswith((".jsonl", ".jsonl.zst")))
        if not inside:
            raise InputError(f"{path}: no event log (*.jsonl, *.jsonl.zst) in this directory")
        found.extend(os.path.join(path, name) for name in inside)
    return found


def add_display_options(parser: argparse.ArgumentParser) -> None:
    """Add the display options of the playground."""
    group = parser.add_argument_group("display")
    group.add_argument("--fps", metavar="N", help="the number of frames per second, from 1 to 60")
    group.add_argument(
        "--slow-link", action="store_true", help="write as little as possible to the terminal: two frames per second, and no mouse"
    )
    group.add_argument("--ascii", action="store_true", help="use ASCII instead of glyphs (same as ISRLAB_ASCII=1)")
    group.add_argument(
        "--palette", metavar="NAME", help="the palette: dark, light, color-blind, contrast, sixteen, or plain (same as NO_COLOR=1)"
    )
    group.add_argument(
        "--keys",
        metavar="FILE",
        help="the keymap file; by default, ~/.config/isrlab/keys.toml if it exists; 'isrlab keys' prints a keymap to start from",
    )


def display_of(arguments: argparse.Namespace) -> DisplayOptions:
    """Parse the display options.

    Raises:
        InputError: an option or the keymap is invalid.
    """
    from pathlib import Path

    from scenarios.errors import InputError, did_you_mean
    from tui.actions.custom_keys import load_keymap
    from tui.main_screen.display_options import MOST_FRAMES, DisplayOptions
    from tui.rendering.palette import PALETTES

    fps = None
    if arguments.fps is not None:
        text = arguments.fps
        if not (text.isascii() and text.isdecimal() and len(text) < 4 and 1 <= int(text) <= MOST_FRAMES):
            raise InputError(f"--fps: '{text[:40]}' is not a number of frames; write a whole number from 1 to {MOST_FRAMES}")
        fps = int(text)
    if arguments.palette is not None and arguments.palette not in PALETTES:
        raise InputError(f"--palette: no palette '{arguments.palette[:40]}'; {did_you_mean(arguments.palette, PALETTES)}")
    keymap = load_keymap(None if arguments.keys is None else Path(arguments.keys))
    return DisplayOptions(fps, arguments.slow_link, True if arguments.ascii else None, arguments.palette, keymap)


def max_events_of(text: str | None) -> int | None:
    """Return the value of the option `--max-events`.

    Raises:
        InputError: the text is not a number of events.
    """
    from scenarios.errors import InputError

    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and int(text) > 0):
        raise InputError(f"--max-events: '{text[:40]}' is not a number of events; write a whole number from 1")
    return int(text)


def max_seconds_of(text: str | None) -> float | None:
    """Return the value of the option `--max-seconds`.

    Raises:
        InputError: the text is not a time.
    """
    return None if text is None else seconds_of("--max-seconds", text)


def seconds_of(option: str, text: str) -> float:
    """Return the value of an option that is a number of seconds.

    Raises:
        InputError: the text is not a time.
    """
    from scenarios.errors import InputError

    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise InputError(f"{option}: '{text[:40]}' is not a time; write a number of seconds, for example 60")
    return seconds
