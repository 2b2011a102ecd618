"""Checks chains of causes: `python -m tests.core.properties.causes --runs 500 --jobs 2`.

For the whole library and random timelines, each event that reports harm must lead to an act or to the start of the cluster, and each cause
must come before its effect. Then the runs are played again without the acts at the ends of chains: the harm should not happen. The exit
code is 0 if every chain ends there, at least 95% of the harms do not happen, and another cause explains each of the others.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Final

import attrs

from tests.core.properties.causes.chains import HARMS, STARTS, faults
from tests.core.properties.causes.counterfactual import NAMED, OTHERWISE, OUTCOMES, PREVENTED, SECOND, Verdict, sample, some, verdicts
from tests.core.properties.causes.runs import LIBRARY, Played, library, random_runs

LEAST: Final = 0.95
"""The share of harms that must not happen without the act. Another cause must explain each of the others: it takes the place of the act."""


@attrs.frozen
class Found:
    """What a run shows.

    Attributes:
        run: the run.
        harms: the number of harms by kind.
        open: the harms whose chain does not end at an act or a start, by kind and by the kind of the last event of the chain.
        wrong: the arrows that cannot be true, in words.
        verdicts: what happened without the acts at the ends of chains.
    """

    run: Played
    harms: Counter[str]
    open: Counter[tuple[str, str]]
    wrong: tuple[str, ...]
    verdicts: tuple[Verdict, ...]


def found(task: tuple[Played, int, int]) -> Found:
    """Play a run, follow the chains of all harms, and play it again without the acts at the ends of up to `task[1]` chains of each kind. Of
    a random run, try only `task[2]` of these chains.
    """
    run, most, in_all = task
    recording = run.play()
    log = recording.log
    harms: Counter[str] = Counter()
    open_: Counter[tuple[str, str]] = Counter()
    for harm in log.harms:
        harms[harm[3]] += 1
        end = log.chain(harm)[-1]
        if end[3] not in STARTS:
            open_[harm[3], end[3]] += 1
    tried = sample(log, most)
    if run.source != LIBRARY:
        tried = some(run, tried, in_all)
    return Found(run, harms, open_, tuple(faults(log)), tuple(verdicts(run, recording, tried)))


def _played(tasks: list[tuple[Played, int, int]], jobs: int) -> Iterator[Found]:
    """Play runs in some processes, and yield what they show."""
    if jobs == 1:
        yield from map(found, tasks)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap(found, tasks, chunksize=2)


def _report(each: Found, *, verbose: bool) -> None:
    """Print what is wrong in a run and, with `verbose`, each harm that was not prevented."""
    for (kind, last), count in each.open.items():
        print(f"{each.run}: {count} × {kind} ends at {last}", flush=True)
    for wrong in each.wrong:
        print(f"{each.run}: {wrong}", flush=True)
    for verdict in each.verdicts if verbose else ():
        if verdict.outcome != PREVENTED:
            others = ", ".join(f"{act[4]} {act[5]}" for act in verdict.others)
            print(f"{each.run}: {verdict.harm[:4]} {verdict.outcome}: without {verdict.act[4:6]}, then {others}", flush=True)


def _table(all_found: list[Found]) -> Counter[str]:
    """Print the figures by kind of event. Return how often each outcome occurred."""
    harms, open_, tried = Counter[str](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for each in all_found:
        harms.update(each.harms)
        open_.update(each.open)
        tried.update((verdict.harm[3], verdict.outcome) for verdict in each.verdicts)
    heads = ("prevented", "named", "second", "otherwise", "wrong", "stays")
    print(f"{'event':<24} {'count':>9} {'open':>6} {'tried':>6} " + " ".join(heads))
    for word, kinds in HARMS.items():
        for kind in kinds:
            ends = sum(count for (of, _), count in open_.items() if of == kind)
            counts = [tried[kind, outcome] for outcome in OUTCOMES]
            cells = " ".join(f"{count:>{len(head)}}" for count, head in zip(counts, heads, strict=True))
            print(f"{kind:<24} {harms[kind]:>9,} {ends:>6} {sum(counts):>6} {cells}   {word}")
    return Counter({outcome: sum(count for (_, each), count in tried.items() if each == outcome) for outcome in OUTCOMES})


def main(arguments: list[str]) -> int:
    """Run the command. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.core.properties.causes", description=__doc__)
    parser.add_argument("--runs", type=int, default=500, help="how many random timelines to play (default: 500)")
    parser.add_argument("--most", type=int, default=3, help="how many harms of each kind to try in each run (default: 3)")
    parser.add_argument("--in-all", type=int, default=4, help="how many harms to try in each random run (default: 4)")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes to use (default: 2)")
    parser.add_argument("--only", default="", help="play only the runs whose name contains this text")
    parser.add_argument("--no-library", action="store_true", help="leave out the library")
    parser.add_argument("--verbose", action="store_true", help="print each harm that was not prevented")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    runs = [*([] if options.no_library else library()), *random_runs(options.runs)]
    runs = [run for run in runs if options.only in str(run)]
    all_found: list[Found] = []
    try:
        for each in _played([(run, options.most, options.in_all) for run in runs], options.jobs):
            all_found.append(each)
            _report(each, verbose=options.verbose)
    except KeyboardInterrupt:
        print("interrupted; the figures are those of the runs so far")
    outcomes = _table(all_found)
    open_ends, wrong_arrows = sum(sum(each.open.values()) for each in all_found), sum(len(each.wrong) for each in all_found)
    tried = outcomes.total()
    prevented, explained = outcomes[PREVENTED], outcomes[NAMED] + outcomes[SECOND] + outcomes[OTHERWISE]
    unexplained = tried - prevented - explained
    print(
        f"{len(all_found)} runs, {time.monotonic() - began:.0f} s: {open_ends} chains end elsewhere, and {wrong_arrows} arrows cannot be true."
    )
    print(
        f"Without the act at the end of its chain, {prevented:,} of {tried:,} harms do not happen ({prevented / max(tried, 1):.1%}; "
        f"at least {LEAST:.0%} must not)."
    )
    print(
        f"{explained:,} happen because another cause took the place of the act, or was needed, too ({explained / max(tried, 1):.1%}), and "
        f"{unexplained:,} are not explained ({unexplained / max(tried, 1):.1%}; none may be)."
    )
    return exit_code(open_ends + wrong_arrows, prevented, explained, tried)


def exit_code(faults_found: int, prevented: int, explained: int, tried: int) -> int:
    """Return 0 if there are no faults, at least `LEAST` of the harms that were tried are prevented, and the others are explained."""
    return int(bool(faults_found) or prevented < LEAST * tried or prevented + explained < tried)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
