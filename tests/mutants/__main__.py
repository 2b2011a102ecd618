"""Plants mistakes in `core/kafka` and `scenarios` and looks whether a test fails: `make mutants ARGS="--number 200 --seed 1"`.

Each mutant is one small change (`operators`), drawn by the seed. Its tests are those that ran its basic block when all passed; they run
quickest first, in a process of their own, in a copy of the tree, until one fails. A test that takes far longer than before counts as
failed (timed out). Changes that were judged to change nothing are listed, with the reason, in `equivalent.yaml`, and are not drawn.

The recording of what each test runs is kept in `build/mutants` and made anew when sources or tests change (some minutes).
`--only 3,17 --tests tests/core/kafka/log` tries mutants of the draw with tests of one's choice instead, without a recording.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import yaml

from tests.mutants.operators import Mutant, mutants, with_probes
from tests.mutants.plugin import TIMED_OUT

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.yaml")
SOURCES = ("core/kafka", "scenarios")
TESTS = ("tests/core", "tests/scenarios", "tests/fidelity")
COPIED = ("core", "scenarios", "tui", "spark_reports", "tests", "docs", "locks")
PYTEST = ("-m", "pytest", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "pytest_asyncio", "-p", "tests.mutants.plugin")
FIRST_FILES = 6
LONGEST = 20.0
"""Seconds: a test that takes longer takes no part."""


class Recorded(NamedTuple):
    """A test that passed: its name, how long it took, and which blocks it ran."""

    name: str
    seconds: float
    blocks: frozenset[int]


class Outcome(NamedTuple):
    """What became of a mutant: killed, timed out or survived, by which test, after how many seconds, and how many tests there were."""

    word: str
    by: str
    seconds: float
    tests: int


def sources() -> dict[str, bytes]:
    files = sorted(path for folder in SOURCES for path in (ROOT / folder).rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in files}


def copy_of_the_tree(name: str) -> Path:
    """A copy of what tests read, without what tools left behind."""
    copy = BUILD / name
    shutil.rmtree(copy, ignore_errors=True)
    left = shutil.ignore_patterns("__pycache__", "found", ".mypy_cache")
    for folder in COPIED:
        shutil.copytree(ROOT / folder, copy / folder, ignore=left)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy2(path, copy / path.name)
    return copy


def run(copy: Path, arguments: list[str], **variables: str) -> int:
    environment = {**os.environ, "PYTHONPATH": str(copy), "CI": "true", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}
    command = [sys.executable, *PYTEST, *arguments]
    pytest = subprocess.Popen(command, cwd=copy, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
    try:
        return pytest.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pytest.pid, signal.SIGKILL)  # what it started, too


def recording(files: dict[str, bytes], jobs: int, skipped: list[str]) -> list[Recorded]:
    """What each test runs, from `build/mutants` if nothing has changed since; a test without a name stands for what importing runs."""
    tests = sorted(path for folder in TESTS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".jsonl", ".yaml"))
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
            ["-p", "xdist", "-n", str(jobs), *TESTS, *(f"--ignore={path}" for path in skipped)],
            MUTANTS_RECORD=str(lines),
            MUTANTS_BLOCKS=str(offset),
        )
        for old in BUILD.glob("recording-*.jsonl"):
            old.unlink()
        kept.write_text("".join(path.read_text() for path in sorted(lines.glob("*.jsonl"))))
    found = [Recorded(name, seconds, frozenset(blocks)) for name, seconds, blocks in map(json.loads, kept.read_text().splitlines())]
    return sorted(found, key=lambda test: (test.seconds, test.name))


def chosen(mutant: Mutant, offset: int, recorded: list[Recorded]) -> dict[str, float]:
    """The tests for a mutant, quickest first, and the seconds of a processor that each may take."""
    block = None if mutant.block is None else offset + mutant.block
    everywhere = block is None or any(block in test.blocks for test in recorded if not test.name)
    tests = (test for test in recorded if test.name and test.seconds <= LONGEST and (everywhere or block in test.blocks))
    return {test.name: 30 + 20 * test.seconds for test in tests}


def in_rounds(tests: dict[str, float], recorded: list[Recorded]) -> list[dict[str, float]]:
    """First the few files of which the largest share runs the block, of these the smallest: most mutants end there, and collecting is dear."""
    sizes = Counter(test.name.split("::")[0] for test in recorded)
    hits = Counter(name.split("::")[0] for name in tests)
    first = sorted(hits, key=lambda file: (-hits[file] / sizes[file], sizes[file]))[:FIRST_FILES]
    rounds = [{name: limit for name, limit in tests.items() if (name.split("::")[0] in first) == early} for early in (True, False)]
    return [each for each in rounds if each]


def tried(copy: Path, mutant: Mutant, number: int, rounds: list[dict[str, float]], given: list[str]) -> Outcome:
    """Run tests against a mutant in a copy of the tree, and mend the copy."""
    began = time.monotonic()
    path = copy / mutant.path
    source, stat = path.read_bytes(), path.stat()
    path.write_bytes(mutant.applied(source))
    os.utime(path, (stat.st_atime, stat.st_mtime + number))  # no byte code of another mutant passes for this one's
    code, by = 0, ""
    try:
        if given:
            code = run(copy, ["-x", *given])
        for tests in rounds:
            if not code:
                listed = copy / "build" / "chosen.json"
                listed.parent.mkdir(exist_ok=True)
                listed.with_suffix(".result").unlink(missing_ok=True)
                listed.write_text(json.dumps(tests))
                files = list(dict.fromkeys(name.split("::")[0] for name in tests))
                code = run(copy, ["-x", *files], MUTANTS_TESTS=str(listed))
                by = listed.with_suffix(".result").read_text() if listed.with_suffix(".result").exists() else ""
    finally:
        path.write_bytes(source)
        os.utime(path, (stat.st_atime, stat.st_mtime))
    word = "survived" if code == 0 else "timed out" if code == TIMED_OUT else "killed"
    return Outcome(word, by or (f"exit code {code}" if code else ""), time.monotonic() - began, sum(map(len, rounds)))


def difference(mutant: Mutant, source: bytes) -> str:
    old, new = (text.decode().splitlines() for text in (source, mutant.applied(source)))
    return "\n".join(difflib.unified_diff(old, new, mutant.path, "mutant", lineterm="", n=2))


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=200, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--only", type=lambda text: [int(part) for part in text.split(",")], help="only these numbers of the draw")
    parser.add_argument("--tests", nargs="+", default=[], help="these tests for every mutant, instead of those that run its block")
    parser.add_argument("--skip", nargs="+", default=[], help="leave these tests out: a survivor may be one only for want of them")
    parser.add_argument("--list", action="store_true", help="show the draw and run nothing")
    arguments = parser.parse_args()

    files = sources()
    offsets: dict[str, int] = {}
    offset = 0
    everything: list[Mutant] = []
    for path, source in files.items():
        offsets[path] = offset
        offset += with_probes(source, 0)[1]
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
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(arguments.jobs):
        copies.put(copy_of_the_tree(f"copy-{number}"))

    def one(number: int, mutant: Mutant) -> Outcome:
        copy = copies.get()
        try:
            rounds = in_rounds(chosen(mutant, offsets[mutant.path], recorded), recorded)
            return tried(copy, mutant, number, rounds, arguments.tests)
        finally:
            copies.put(copy)

    words: Counter[str] = Counter()
    survivors: list[tuple[int, Mutant, Outcome]] = []
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
                if outcome.word == "survived":
                    survivors.append((number, mutant, outcome))
                    print(difference(mutant, files[mutant.path]), flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
    total = words.total()
    for number, mutant, outcome in sorted(survivors):
        print(f"\n{number}. survived {outcome.tests} tests, {mutant.path}:{mutant.line}\n    {mutant.before}\n    {mutant.after}")
    share = 100 * len(survivors) / total if total else 0.0
    print(
        f"\nseed {arguments.seed}: {total} mutants, {words['killed']} killed, {words['timed out']} timed out, {len(survivors)} survived ({share:.1f} %)"
    )
    return int(share > 5)


if __name__ == "__main__":
    sys.exit(main())
