"""Puts mistakes into `core/kafka` and `scenarios`, and checks whether a test fails: `make mutants ARGS="--number 200 --seed 1"`.

Each mutant is one small change (`operators`), which the seed selects. The tests for a mutant are those that run the changed basic block in
the unchanged tree. They run in a copy of the tree, the quickest first, until one of them fails. A parent process imports everything and
collects the tests once. For each mutant, it forks a process and replaces the code of the changed functions there. If the changed code runs
during an import, the mutant gets a fresh process instead. A test that takes much longer than before counts as failed (timed out). A mutant
whose tests cannot all run in time is undecided. A mutant for which only recorded digests or recorded tables differ is counted apart: they
show that something has changed, but no test says what is right. `equivalent.yaml` lists the changes that have no effect, with the reasons. These changes
are not selected.

A recording of the code that each test runs is kept in `build/mutants`. It is made again when sources or tests change, which takes a few
minutes. Instead, `--only 3,17 --tests tests/core/kafka/log` tries the selected mutants with the given numbers against the given tests,
without a recording.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from pathlib import Path, PurePath
from queue import SimpleQueue
from typing import NamedTuple

import yaml

from tests.mutants.operators import Mutant, mutants, with_probes
from tests.mutants.trying import BUILD, ROOT, TABLES, Bench, Outcome, Tests, copy_of_the_tree, run

EQUIVALENT = Path(__file__).with_name("equivalent.yaml")
SOURCES = ("core/kafka", "scenarios")
TESTS = ("tests/core", "tests/scenarios", "tests/fidelity")
FIRST_FILES = 6
LONGEST = 20.0
QUICK = 0.1
"""The maximum duration in seconds of a test that also runs for mutants that can affect every test."""
GIVEN = 600.0
"""The maximum duration in seconds of tests that the user chooses."""


class Recorded(NamedTuple):
    """A test that passed: its name, its duration, and the blocks that it ran."""

    name: str
    seconds: float
    blocks: frozenset[int]


def sources() -> dict[str, bytes]:
    files = sorted(path for folder in SOURCES for path in (ROOT / folder).rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in files}


def every_test(skipped: list[str]) -> list[str]:
    return [*TESTS, *(f"--ignore={path}" for path in skipped)]


def recording(files: dict[str, bytes], jobs: int, skipped: list[str]) -> list[Recorded]:
    """Return the blocks that each test runs, from `build/mutants` if nothing has changed since the recording. A test without a name stands
    for the imports."""
    tests = sorted(path for folder in TESTS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".jsonl", ".yaml", ".txt"))
    digest = hashlib.blake2b(repr((sorted(files.items()), skipped)).encode())
    for path in tests:
        digest.update(path.read_bytes())
    kept = BUILD / f"recording-{digest.hexdigest()[:16]}.jsonl"
    if not kept.exists():
        print("recording what each test runs …", flush=True)
        copy = copy_of_the_tree("recorded")
        offset = 0
        for path, source in files.items():
            text, count = with_probes(source, offset)
            (copy / path).write_text(text)
            offset += count
        lines = BUILD / "lines"
        shutil.rmtree(lines, ignore_errors=True)
        lines.mkdir()
        run(
            copy,
            ["-p", "xdist", "-n", str(jobs), *every_test(skipped)],
            MUTANTS_RECORD=str(lines),
            MUTANTS_BLOCKS=str(offset),
        )
        for old in BUILD.glob("recording-*.jsonl"):
            old.unlink()
        kept.write_text("".join(path.read_text() for path in sorted(lines.glob("*.jsonl"))))
    found = [Recorded(name, seconds, frozenset(blocks)) for name, seconds, blocks in map(json.loads, kept.read_text().splitlines())]
    return sorted(found, key=lambda test: (test.name in TABLES, test.seconds, test.name))


def chosen(mutant: Mutant, blocks: range, recorded: list[Recorded], longest: float) -> Tests:
    """Return the tests for a mutant in a file that has these blocks: the tests that run the mutant's block, the quickest first.

    If an import runs the block, the mutant can affect every test. In this case, all quick tests follow, starting with those that run
    anything in the file. If no test runs the block, the tests in the corresponding folder are chosen, because they might run it in a way
    that is not recorded.
    """
    block = None if mutant.block is None else blocks.start + mutant.block
    taking_part = [test for test in recorded if test.name and test.seconds <= longest]
    near = [test for test in taking_part if block in test.blocks]
    fresh: list[list[Recorded]] = []
    if block is None or any(block in test.blocks for test in recorded if not test.name):
        quick = [test for test in taking_part if test.seconds <= QUICK]
        same_file = [test for test in quick if not test.blocks.isdisjoint(blocks)]
        first = in_few_files(same_file, recorded)
        fresh = [first, without(same_file, first), without(quick, same_file)]
    elif not near:
        rooms = (f"tests/{folder}/" for folder in PurePath(mutant.path).parents)
        near = next(found for room in rooms if (found := [test for test in taking_part if test.name.startswith(room)]))
    seconds = 60 + 5 * sum(test.seconds for tests in (near, *fresh) for test in tests)
    return Tests(limits_of(near), [limits for tests in fresh if (limits := limits_of(tests))], seconds)


def limits_of(tests: list[Recorded]) -> dict[str, float]:
    return {test.name: 10 + 10 * test.seconds for test in tests}


def without(tests: Collection[Recorded], left_out: Collection[Recorded]) -> list[Recorded]:
    names = {test.name for test in left_out}
    return [test for test in tests if test.name not in names]


def in_few_files(tests: Collection[Recorded], recorded: list[Recorded]) -> list[Recorded]:
    """Return those of the tests that are in the `FIRST_FILES` files in which they make up the largest share. Most mutants are
    killed there, and collecting tests is expensive.
    """
    sizes = Counter(test.name.split("::")[0] for test in recorded)
    hits = Counter(test.name.split("::")[0] for test in tests)
    files = sorted(hits, key=lambda file: (-hits[file] / sizes[file], sizes[file]))[:FIRST_FILES]
    return [test for test in tests if test.name.split("::")[0] in files]


def difference(mutant: Mutant, source: bytes) -> str:
    old, new = (text.decode().splitlines() for text in (source, mutant.applied(source)))
    return "\n".join(difflib.unified_diff(old, new, mutant.path, "mutant", lineterm="", n=2))


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=200, help="the number of mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="the number of mutants to try at the same time")
    parser.add_argument(
        "--only", type=lambda text: [int(part) for part in text.split(",")], help="try only the selected mutants with these numbers"
    )
    parser.add_argument("--tests", nargs="+", default=[], help="run these tests for every mutant, instead of those that run its block")
    parser.add_argument("--skip", nargs="+", default=[], help="leave out these tests; mutants might survive only for this reason")
    parser.add_argument("--longest", type=float, default=LONGEST, help="leave out tests that take longer than this number of seconds")
    parser.add_argument("--list", action="store_true", help="show the selected mutants and run nothing")
    arguments = parser.parse_args()

    files = sources()
    blocks: dict[str, range] = {}
    offset = 0
    everything: list[Mutant] = []
    for path, source in files.items():
        blocks[path] = range(offset, offset := offset + with_probes(source, 0)[1])
        everything.extend(mutants(path, source))
    judged = {(entry["file"], entry["was"], entry["is"]) for entry in yaml.safe_load(EQUIVALENT.read_text()) or ()}
    known = {mutant for mutant in everything if (mutant.path, mutant.before, mutant.after) in judged}
    order = enumerate(sorted(everything, key=lambda mutant: mutant.order(arguments.seed)), start=1)
    drawn = islice(((number, mutant) for number, mutant in order if mutant not in known), arguments.number)
    numbered = [(number, mutant) for number, mutant in drawn if not arguments.only or number in arguments.only]
    print(
        f"seed {arguments.seed}: {len(numbered)} of {len(everything):,} mutants of {len(files)} files; {len(known)} are judged equivalent",
        flush=True,
    )
    if arguments.list:
        for number, mutant in numbered:
            print(f"\n{number}. line {mutant.line}\n{difference(mutant, files[mutant.path])}")
        return 0

    recorded = [] if arguments.tests else recording(files, arguments.jobs, arguments.skip)
    print(f"{sum(bool(test.name) for test in recorded):,} tests, {sum(test.seconds for test in recorded):.0f} s", flush=True)
    began = time.monotonic()
    benches: SimpleQueue[Bench] = SimpleQueue()
    for number in range(arguments.jobs):
        benches.put(Bench(f"copy-{number}", every_test(arguments.skip)))

    def one(number: int, mutant: Mutant) -> Outcome:
        bench = benches.get()
        try:
            tests = Tests({}, [], GIVEN) if arguments.tests else chosen(mutant, blocks[mutant.path], recorded, arguments.longest)
            return bench.try_out(mutant, number, tests, arguments.tests)
        finally:
            benches.put(bench)

    words: Counter[str] = Counter()
    left: list[tuple[int, Mutant, Outcome]] = []
    killers: set[str] = set()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        waiting = {pool.submit(one, number, mutant): (number, mutant) for number, mutant in numbered}
        try:
            for done in as_completed(waiting):
                number, mutant = waiting[done]
                outcome = done.result()
                words[outcome.word] += 1
                print(
                    f"{number:4} {outcome.word:9} {outcome.seconds:6.1f} s of {outcome.tests} tests  {mutant.path}:{mutant.line}  {outcome.by}",
                    flush=True,
                )
                if "::" in outcome.by:
                    killers.add(outcome.by)
                if outcome.word not in ("killed", "timed out"):
                    left.append((number, mutant, outcome))
                    print(difference(mutant, files[mutant.path]), flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
    bench = benches.get()
    for name in bench.failing(sorted(killers)) if killers else ():
        print(f"{name} also fails without a mutant, so the mutants that it killed might survive", flush=True)
    bench.close()
    while not benches.empty():
        benches.get().close()
    total = words.total()
    for number, mutant, outcome in sorted(left):
        print(f"\n{number}. {outcome.word}, {outcome.tests} tests, {mutant.path}:{mutant.line}\n    {mutant.before}\n    {mutant.after}")
    share = 100 * (words["survived"] + words["undecided"]) / total if total else 0.0  # what is undecided may live
    print(
        f"\nseed {arguments.seed}: {total} mutants, {words['killed']} killed, {words['timed out']} timed out, "
        f"{words['by record']} killed by records alone, {words['survived']} survived, {words['undecided']} undecided ({share:.1f} %), "
        f"in {(time.monotonic() - began) / 60:.0f} minutes"
    )
    return int(share > 5)


if __name__ == "__main__":
    sys.exit(main())
