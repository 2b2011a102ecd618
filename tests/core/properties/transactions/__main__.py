"""Tries many seeds of the transactional swarm: `python -m tests.core.properties.transactions --seeds 2000 --jobs 2 4.3 3.3`.

It reports each seed that does harm, with the fewest steps that still do the same harm. The exit status is 1 if the newest release does harm.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable

import attrs

from core.kafka.release import CURRENT
from core.lab.cluster import Cluster
from core.sim.journal import Sink, null_sink
from scenarios.releases import release_named
from tests.core.properties.transactions.deeds import Step
from tests.core.properties.transactions.known_errors import KNOWN_ERRORS, KnownError
from tests.core.properties.transactions.play import harms
from tests.core.properties.transactions.timeline import TransactionalTimeline, transactional_swarm
from tests.core.properties.transactions.verdict import HARMS


@attrs.frozen
class Finding:
    """What a seed does under a release.

    Attributes:
        seed: the seed.
        release: the name of the release.
        harms: the harms by kind; an exception counts as a harm with its message.
        issue: the known errors that explain them; empty if there are none.
    """

    seed: int
    release: str
    harms: tuple[tuple[str, int], ...]
    issue: str = ""


def harms_or_error(
    timeline: TransactionalTimeline,
    name: str,
    without: tuple[KnownError, ...] = (),
    sink: Sink = null_sink,
    ended: Callable[[Cluster], object] = null_sink,
) -> tuple[Counter[str], list[KnownError]]:
    """Return the harms of a timeline, and the known errors that happened. The release runs without some of its known errors.
    `sink` receives the events, and `ended` the healed cluster.
    """
    happened: dict[str, KnownError] = {}

    def watch(event: tuple) -> None:
        sink(event)
        for each in KNOWN_ERRORS:
            if each.name not in happened and each.happened(event):
                happened[each.name] = each

    with contextlib.ExitStack() as stack:
        release = release_named(name)
        for each in without:
            release = stack.enter_context(each.repaired(release))
        try:
            return harms(timeline, release, watch, ended), list(happened.values())
        except Exception as error:  # any error of the model is a finding
            return Counter([f"{type(error).__name__}: {error}"]), list(happened.values())


def finding(task: tuple[int, str], sink: Sink = null_sink, ended: Callable[[Cluster], object] = null_sink) -> Finding | None:
    """Try a seed under a release; None if it does no harm. `sink` receives the events, and `ended` the healed cluster.

    Known errors explain the harm if they happened, and if the seed does no harm without them.
    """
    seed, name = task
    timeline = transactional_swarm(seed)
    found, happened = harms_or_error(timeline, name, sink=sink, ended=ended)
    if not found:
        return None
    explained = bool(happened) and not harms_or_error(timeline, name, tuple(happened))[0]
    return Finding(seed, name, tuple(sorted(found.items())), ", ".join(each.name for each in happened) if explained else "")


def shortest(seed: int, name: str, kinds: set[str]) -> tuple[Step, ...]:
    """Return the steps of a seed without those that the harm does not need."""
    timeline = transactional_swarm(seed)
    size = max(len(timeline.steps) // 2, 1)
    while True:
        at, dropped = 0, False
        while at < len(timeline.steps):
            shorter = attrs.evolve(
                timeline, steps=(*timeline.steps[:at], *_merged(timeline.steps[at : at + size], timeline.steps[at + size :]))
            )
            if kinds & set(harms_or_error(shorter, name)[0]):
                timeline, dropped = shorter, True
            else:
                at += size
        if size == 1 and not dropped:
            return timeline.steps
        size = max(size // 2, 1)


def _merged(dropped: tuple[Step, ...], rest: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps after dropped ones, at the same times."""
    if not rest:
        return ()
    wait, deed = rest[0]
    return ((wait + sum(each for each, _ in dropped), deed), *rest[1:])


def main(arguments: list[str]) -> int:
    """Run the command. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.core.properties.transactions", description=__doc__)
    parser.add_argument("releases", nargs="*", default=[CURRENT.name], help="the releases, which can name guards: '4.1 without elr'")
    parser.add_argument("--seeds", type=int, default=2_000, help="how many seeds to try (default: 2000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes to use (default: 2)")
    parser.add_argument("--steps", type=int, default=3, help="of how many seeds of each release to print the steps (default: 3)")
    options = parser.parse_args(arguments)
    failed = False
    with multiprocessing.Pool(options.jobs) as pool:
        for name in options.releases:
            began = time.monotonic()
            tasks = [(seed, name) for seed in range(options.first, options.first + options.seeds)]
            found = [each for each in pool.imap(finding, tasks, chunksize=8) if each is not None]
            by_kind: dict[str, list[int]] = {}
            for each in found:
                for kind, _ in each.harms:
                    by_kind.setdefault(f"{kind} ({each.issue})" if each.issue else kind, []).append(each.seed)
            print(f"{name}: {options.seeds} seeds, {len(found)} with harm, {time.monotonic() - began:.0f} s", flush=True)
            for kind in sorted(by_kind, key=lambda kind: (HARMS.index(kind) if kind in HARMS else len(HARMS), kind)):
                print(f"  {kind}: {len(by_kind[kind])}, such as {', '.join(map(str, by_kind[kind][:8]))}", flush=True)
            for each in [each for each in found if not each.issue][: options.steps]:
                print(f"  seed {each.seed}: {dict(each.harms)}")
                for wait, deed in shortest(each.seed, name, {kind for kind, _ in each.harms}):
                    print(f"    after {wait / 1_000_000:.6f} s: {deed}", flush=True)
            failed = failed or (name == CURRENT.name and any(not each.issue for each in found))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
