"""Tries many seeds of the swarm of groups: `python -m tests.core.properties.groups --seeds 2000 --jobs 2`.

For each seed, the accounts and the audit must agree with a list of all single records (`notebook`). The command reports each seed for which
they differ, or for which something does not come to rest, with the fewest steps that still show the problem. If there is such a seed, the
exit code is 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable

import attrs

from core.lab.cluster import Cluster
from core.sim.journal import Sink, null_sink
from tests.core.properties.groups.play import play, unfinished
from tests.core.properties.groups.timeline import GroupTimeline, Step, group_swarm
from tests.core.properties.groups.verdict import STUCK, Findings, differences


@attrs.frozen
class Outcome:
    """What a seed shows.

    Attributes:
        seed: the seed.
        release: the release.
        findings: the differences by name.
        events: how often each event that reports harm occurred.
    """

    seed: int
    release: str
    findings: Findings
    events: Counter[str]


def findings(
    timeline: GroupTimeline, sink: Sink = null_sink, ended: Callable[[Cluster], object] = null_sink
) -> tuple[Findings, Counter[str]]:
    """Play a timeline. Return the differences, and the kinds of events that occurred. An error in the model counts as a difference. `sink`
    also receives the events, and `ended` the cluster.
    """
    try:
        cluster, notebook = play(timeline, sink)
        ended(cluster)
        left = unfinished(cluster, timeline)
        return {**({STUCK: left} if left else {}), **differences(cluster, notebook, timeline)}, notebook.kinds
    except Exception as error:  # any error of the model is a finding
        return {f"{type(error).__name__}": str(error)}, Counter()


def outcome(seed: int) -> Outcome:
    """Play the timeline of a seed, and return its outcome."""
    timeline = group_swarm(seed)
    found, kinds = findings(timeline)
    return Outcome(seed, timeline.release, found, kinds)


def shortest(timeline: GroupTimeline, names: set[str]) -> tuple[Step, ...]:
    """Return the steps of a timeline that are needed for the findings with the given names."""
    at = 0
    while at < len(timeline.steps):
        wait = timeline.steps[at][0]
        rest = timeline.steps[at + 1 :]
        later = ((wait + rest[0][0], rest[0][1]), *rest[1:]) if rest else ()
        shorter = attrs.evolve(timeline, steps=(*timeline.steps[:at], *later))
        if names & set(findings(shorter)[0]):
            timeline = shorter
        else:
            at += 1
    return timeline.steps


def main(arguments: list[str]) -> int:
    """Run the command and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.core.properties.groups", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2_000, help="how many seeds to try (default: 2000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes to use (default: 2)")
    parser.add_argument("--steps", type=int, default=3, help="of how many seeds to print the steps (default: 3)")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    harmed: Counter[str] = Counter()
    wrong: list[Outcome] = []
    with multiprocessing.Pool(options.jobs) as pool:
        for each in pool.imap(outcome, seeds, chunksize=4):
            if (each.seed + 1) % 100 == 0:
                print(f"  … {each.seed + 1}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            harmed.update(kind for kind in each.events if each.events[kind])
            if each.findings:
                wrong.append(each)
                print(f"  seed {each.seed} ({each.release}):", flush=True)
                for name, both in each.findings.items():
                    print(f"    {name}: {both}", flush=True)
    print(f"{options.seeds} seeds, {len(wrong)} with differences, {time.monotonic() - began:.0f} s")
    shown = (
        "processed-again",
        "records-skipped",
        "processed-twice",
        "half-visible",
        "never-processed",
        "succeeded-twice",
        "retry-dropped",
        "records-lost",
    )
    print("  seeds with " + ", ".join(f"{kind}: {harmed[kind]}" for kind in shown))
    for each in wrong[: options.steps]:
        print(f"  steps of seed {each.seed}:")
        for wait, deed in shortest(group_swarm(each.seed), set(each.findings)):
            print(f"    after {wait / 1_000_000:.6f} s: {deed}", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
