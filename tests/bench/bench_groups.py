"""How long the assignors take for 500 members on 5,000 partitions: `python tests/bench/bench_groups.py`.

Each assignor runs three times: at first nobody owns anything; then a member joins; then two members leave.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.kafka.assignors.java_order import hash_map_order
from core.kafka.assignors.subscription import Assignment, Member, TopicMetadata
from tests.core.kafka.assignors.random_groups import ASSIGNORS

MEMBERS = 500
PARTITIONS = 5_000


def topics(number: int, *, racks: int = 0) -> dict[str, TopicMetadata]:
    """Topics with 5,000 partitions in total."""
    count = PARTITIONS // number
    places = tuple(frozenset({f"r{n % racks}"}) for n in range(count)) if racks else ()
    return {f"topic-{n:03}": TopicMetadata(count, places) for n in range(number)}


def measure(kind: str, by_topic: dict[str, TopicMetadata], *, equal: bool, racks: int = 0) -> list[float]:
    """The seconds of the three assignments."""
    rng = random.Random(1)
    names = list(by_topic)

    def subscription() -> tuple[str, ...]:
        return tuple(names if equal else sorted(rng.sample(names, max(1, len(names) // 2))))

    group = {f"m{n}-{rng.randrange(16**12):012x}": (subscription(), f"r{n % racks}" if racks else "") for n in range(MEMBERS)}
    owned: Assignment = {}
    seconds = []
    for change in range(3):
        if change == 1:
            group["newcomer"] = (subscription(), "")
        elif change == 2:
            for name in list(group)[:2]:
                del group[name]
        order = hash_map_order(group)
        members = [
            Member(name, group[name][0], tuple(owned.get(name, ())), change if name in owned else -1, "", group[name][1]) for name in order
        ]
        begin = time.perf_counter()
        owned = ASSIGNORS[kind](by_topic, members)
        seconds.append(time.perf_counter() - begin)
    return seconds


def main() -> None:
    """Print the seconds of each assignor."""
    print(f"{MEMBERS} members, {PARTITIONS} partitions: seconds for the first assignment, after a join, and after two departures")
    for kind in ASSIGNORS:
        for label, by_topic, equal, racks in (
            ("1 topic", topics(1), True, 0),
            ("50 topics", topics(50), True, 0),
            ("50 topics, different subscriptions", topics(50), False, 0),
            ("50 topics, 3 racks", topics(50, racks=3), True, 3),
            ("50 topics, different subscriptions, 3 racks", topics(50, racks=3), False, 3),
        ):
            print(f"  {kind:<20}{label:<46}", "  ".join(f"{each:6.3f}" for each in measure(kind, by_topic, equal=equal, racks=racks)))


if __name__ == "__main__":
    main()
