"""Fuzzes the laboratory: `make fuzz ARGS="--seconds 60 --seed 1 --target logs"`. Without arguments, it fuzzes all targets for a minute.

At the end, or when interrupted, the command prints a table of cases by target. The exit code is 1 if any case failed. Each failing case is
made smaller and saved in `tests/fuzz/found` as TARGET-SEED-NUMBER.case. Every test run tries the cases in `tests/fuzz/regressions`.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import resource
import sys
import time
from pathlib import Path

from tests.fuzz import key_bursts
from tests.fuzz.campaign import Campaign, minimised
from tests.fuzz.targets import TARGETS
from tests.fuzz.watch import largest

FOUND = Path(__file__).with_name("found")
KEYS = "key-bursts"
ADDRESS_SPACE = 6 << 30
"""The maximum address space of the process in bytes. A case that needs more fails with a MemoryError and a traceback, and does not exhaust
the memory of the machine."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--hours", type=float, default=0.0)
    parser.add_argument("--cases", type=int, default=0, help="stop after this number of cases")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--target", choices=[*TARGETS, KEYS], action="append")
    arguments = parser.parse_args()
    seconds = arguments.hours * 3600 or arguments.seconds
    seed = random.SystemRandom().randrange(2**32) if arguments.seed is None else arguments.seed
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, resource.getrlimit(resource.RLIMIT_AS)[1]))
    print(f"seed {seed}, {seconds:g} s", flush=True)
    wanted = arguments.target or [*TARGETS, KEYS]
    campaign = Campaign([TARGETS[name] for name in wanted if name in TARGETS], seed)
    started = time.monotonic()
    bursts = seconds * (1.0 if wanted == [KEYS] else 0.2) if KEYS in wanted else 0.0
    failed = 0
    if campaign.targets:
        with contextlib.suppress(KeyboardInterrupt):
            campaign.run(seconds - bursts, arguments.cases, say=lambda line: print(line, flush=True))
    for number, (target, case, failure, draw_seed) in enumerate(campaign.failures, start=1):
        FOUND.mkdir(exist_ok=True)
        path = FOUND / f"{target.name}-{seed}-{number}.case"
        path.write_bytes(minimised(target, case, failure, draw_seed))
        print(f"\n{path}: {failure.sort}\n{failure.told}", flush=True)
        failed += 1
    rows = [(name, campaign.cases[name], campaign.spent[name]) for name in campaign.cases]
    if bursts:
        began = time.monotonic()
        report = key_bursts.run(bursts, seed)
        rows.append((KEYS, report.cases, time.monotonic() - began))
        failed += len(report.failures)
        print(report)
    print(f"\n{'target':<12}{'cases':>12}{'seconds':>10}{'a second':>10}")
    for name, cases, spent in rows:
        print(f"{name:<12}{cases:>12,}{spent:>10.0f}{cases / max(spent, 0.001):>10,.0f}")
    total = sum(row[1] for row in rows)
    print(f"{'all':<12}{total:>12,}{time.monotonic() - started:>10.0f}   {failed} failed, largest process {largest()} MB, seed {seed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
