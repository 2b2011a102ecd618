"""Compares the order of an ISR with the sets of Scala's own library, which Spark's JVM has loaded."""

from __future__ import annotations

import random
from typing import Any

import pytest

from core.kafka.broker.isr_order import expanded, shrunk
from core.kafka.release import IsrOrder


def _members(printed: str) -> tuple[int, ...]:
    return tuple(int(each) for each in printed.split(","))


@pytest.mark.parametrize("count", [1, 2, 4, 5, 6, 9, 33, 200])
def test_the_order_is_that_of_scala_s_sets(spark: Any, count: int) -> None:
    """Immutable sets (Kafka 2.6 to 4.1): `+` and `-`. Mutable sets (from 4.2): `+`, and `diff` of the set to which `map` converts the
    members in the metadata.
    """
    jvm = spark._jvm
    assert str(jvm.scala.util.Properties.versionNumberString()).startswith("2.13.")
    immutable = getattr(getattr(jvm.scala.collection.immutable, "Set$"), "MODULE$")
    mutable = getattr(getattr(jvm.scala.collection.mutable, "HashSet$"), "MODULE$")
    draw = random.Random(count)
    for most in (2 * count + 20, 2**31 - 1):
        *isr, joining = draw.sample(range(most), count + 1)
        kept = immutable.empty()
        table = mutable.empty()
        for member in isr:
            kept = getattr(kept, "$plus")(member)
            table.add(member)
        assert _members(kept.mkString(",")) == expanded(tuple(isr[:-1]), isr[-1], IsrOrder.INSERTION_TRIE_2_13)
        assert _members(getattr(table, "$plus")(joining).mkString(",")) == expanded(tuple(isr), joining, IsrOrder.HASH_TABLE)
        if count > 1:
            gone = isr[count // 2]
            alone = getattr(immutable.empty(), "$plus")(gone)
            assert _members(getattr(kept, "$minus")(gone).mkString(",")) == shrunk(
                _members(kept.mkString(",")), (gone,), IsrOrder.INSERTION_TRIE_2_13
            )
            assert _members(table.diff(alone).mkString(",")) == shrunk(tuple(isr), (gone,), IsrOrder.HASH_TABLE)
