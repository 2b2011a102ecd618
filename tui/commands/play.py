"""The commands `isrlab play`, which opens the playground, and `isrlab keys`, which prints its keymap."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from typing import TYPE_CHECKING, Any

from core.sim.units import format_duration
from scenarios.io.standard_streams import print_error, print_lines
from tui.arguments.live import add_live_options, import_live_cluster, live_given
from tui.arguments.options import (
    add_display_options,
    add_feature_option,
    add_groups_option,
    add_run_options,
    display_of,
    features_of,
    release_of,
    seed_of,
    time_of,
)
from tui.arguments.sources import describe_text, import_texts, looks_like_log, watched_copy
from tui.exit_codes import BAD_INPUT, HELD

if TYPE_CHECKING:
    from core.kafka.release import Release
    from scenarios.running.imported_cluster import ImportedCluster
    from tui.session.play_target import PlayTarget

COMPARE_MODELS = "compare-models"
"""The name of the target that opens four replication models side by side."""


def add_commands(commands: Any) -> None:
    """Add the commands `play` and `keys`."""
    play = commands.add_parser(
        "play", help="open the playground with a scenario, an old session, or the kafka-topics --describe output of a real cluster"
    )
    add_target_options(play)
    add_live_options(play)
    play.add_argument("--log", metavar="FILE", help="write the session's event log to this file")
    play.add_argument(
        "--record",
        metavar="FILE",
        help="when the session ends, save it as a scenario script, or as an event log if FILE ends in .jsonl or .jsonl.zst",
    )
    add_display_options(play)
    play.set_defaults(command=_play)

    keys = commands.add_parser("keys", help="print the playground's keymap as a file that you can edit")
    keys.add_argument("--keys", metavar="FILE", help="the keymap file to check and print, instead of the current keymap")
    keys.set_defaults(command=_keys)


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the target to play, and the options that control how it runs."""
    parser.add_argument(
        "target",
        nargs="?",
        metavar="SCENARIO|LOG|DESCRIBE.txt",
        help="a scenario from the library, a script, an old session's event log, or the output of kafka-topics --describe; by "
        "default, a new cluster of three brokers; for 'play', compare-models opens four replication models side by side",
    )
    add_run_options(parser)
    add_feature_option(parser)
    add_groups_option(parser)
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="the virtual time at which to open a LOG, for example 12s; by default, the end of the log. From the log of a watched cluster, a "
        "copy of the cluster as it was then is opened",
    )
    parser.add_argument(
        "--read-only", action="store_true", help="open a LOG read-only; without this option, the first action starts a branch"
    )


def target_of(arguments: argparse.Namespace) -> PlayTarget:
    """Return the target that the arguments of `play` or `serve` name.

    Raises:
        InputError: the target does not exist, or cannot be read.
    """

    from core.kafka.release import CURRENT
    from scenarios.errors import InputError
    from scenarios.releases import release_named
    from tui.session.play_target import PlayTarget

    release, seed, features = release_of(arguments.release), seed_of(arguments.seed), features_of(arguments.feature)
    if live_given(arguments, "target"):
        if arguments.read_only or arguments.at is not None:
            raise InputError(f"--{'read-only' if arguments.read_only else 'at'}: needs the event log of an old session; name one")
        imported, under = import_live_cluster(arguments, release)
        return _imported_target(imported, under, seed, features)
    if arguments.target is not None and looks_like_log(arguments.target):
        if arguments.groups:
            raise InputError("--groups: needs the output of kafka-topics --describe, not an event log; omit this option")
        copy = watched_copy(arguments.target, arguments.at, release)
        if copy is None:
            return _old_session(arguments)
        if arguments.read_only:
            raise InputError("--read-only: needs the event log of an old session; the copy of a watched cluster is a new one")
        return _imported_target(copy, release_named(copy.scenario.releases[0]), seed, features)
    if arguments.read_only or arguments.at is not None:
        raise InputError(f"--{'read-only' if arguments.read_only else 'at'}: needs the event log of an old session; name one")
    text = None if arguments.target is None else describe_text(arguments.target)
    if arguments.groups and text is None:
        raise InputError("--groups: needs the output of kafka-topics --describe; name its file")
    if arguments.target is None:
        return PlayTarget(None, None, release or CURRENT, seed or 0, features=features)
    if text is not None:
        return _imported_target(import_texts(text, arguments.target, arguments.groups, release), release or CURRENT, seed, features)
    from scenarios import catalogue

    scenario = catalogue.load(arguments.target)
    return PlayTarget(
        None if scenario.plain else scenario,
        scenario.spec,
        release or release_named(scenario.releases[-1]),
        scenario.seed if seed is None else seed,
        title=scenario.name,
        features=features,
    )


def _imported_target(imported: ImportedCluster, release: Release, seed: int | None, features: tuple[tuple[str, int], ...]) -> PlayTarget:
    """Return the `PlayTarget` for an imported cluster."""
    from tui.session.play_target import PlayTarget

    scenario = imported.scenario
    return PlayTarget(
        None if scenario.plain else scenario,
        scenario.spec,
        release,
        seed or 0,
        title=scenario.name,
        notes=imported.notes,
        features=features,
    )


def _play(arguments: argparse.Namespace) -> int:
    gc.disable()  # Until the first screen is shown, almost nothing is garbage.
    try:
        return _compare_models(arguments) if arguments.target == COMPARE_MODELS else _open(arguments)
    finally:
        gc.enable()


def _compare_models(arguments: argparse.Namespace) -> int:
    """Run the screen that compares replication models, and return the exit code."""
    from scenarios.errors import InputError

    for option in ("release", "feature", "groups", "at", "read_only", "log", "record"):
        if getattr(arguments, option) not in (None, False, []):
            raise InputError(f"--{option.replace('_', '-')}: {COMPARE_MODELS} does not use this option")
    display = display_of(arguments)
    if not (sys.stdin.isatty() and sys.stdout.isatty()) and "TEXTUAL_DRIVER" not in os.environ:
        print_error("play needs a terminal; 'isrlab run primary-dies --model kafka --model mysql' compares models without one")
        return BAD_INPUT
    from tui.model_comparison.app import run_model_comparison

    return run_model_comparison(seed_of(arguments.seed) or 0, display)


def _open(arguments: argparse.Namespace) -> int:
    """Run the playground on the target that the arguments name, and return the exit code."""
    from pathlib import Path

    import attrs

    from scenarios.errors import InputError
    from scenarios.io.output_files import check_outputs, refuse_stdout

    target = target_of(arguments)
    option, log = "--log", None if arguments.log is None else Path(arguments.log)
    record = None if arguments.record is None else Path(arguments.record)
    if record is not None and record.name.endswith((".jsonl", ".jsonl.zst")):
        if log is not None:
            raise InputError(f"--record: {record} is an event log, and so is --log; use only one of them")
        option, log, record = "--record", record, None
    for name, path in ((option, log), ("--record", record)):
        refuse_stdout(name, path, "a file; the playground itself uses stdout")
    check_outputs({"--record": record, option: log}, [arguments.target, arguments.keys])
    target = attrs.evolve(target, log=log, record=record)
    display = display_of(arguments)
    if not (sys.stdin.isatty() and sys.stdout.isatty()) and "TEXTUAL_DRIVER" not in os.environ:
        print_error("play needs a terminal; 'isrlab run' runs a scenario without one")
        return BAD_INPUT
    for note in target.notes:
        print_error(note)
    from tui.app.playground import run_app

    return run_app(target, display)


def _old_session(arguments: argparse.Namespace) -> PlayTarget:
    """Return the `PlayTarget` for the event log of an old session."""
    from pathlib import Path

    from scenarios.errors import InputError
    from scenarios.logs.recorded_session import read_session
    from tui.session.play_target import PlayTarget

    for option in ("release", "seed", "feature"):
        if getattr(arguments, option) is not None:
            raise InputError(
                f"--{option}: an old session plays as it was recorded; to change the session, save it as a script (--record FILE), and run the script"
            )
    at = time_of(arguments.at)
    old = read_session(arguments.target)
    if at is not None and at > old.end:
        raise InputError(f"--at: {arguments.at} is past the end of {arguments.target}, which is {format_duration(old.end)} long")
    title = f"{old.scenario}, from {Path(arguments.target).name}" if old.scenario else Path(arguments.target).name
    notes = (old.problem,) if old.problem else ()
    return PlayTarget(
        None, old.spec, old.release, old.seed, None, title, notes, old=old, read_only=arguments.read_only, at=-1 if at is None else at
    )


def _keys(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from tui.actions.custom_keys import as_toml, load_keymap

    print_lines(as_toml(load_keymap(None if arguments.keys is None else Path(arguments.keys))))
    return HELD
