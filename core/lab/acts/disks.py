"""Acts on the log directories and disks of brokers."""

from __future__ import annotations

import attrs

from core.kafka.ids import TopicPartition
from core.lab.acts.act import Act


@attrs.frozen(eq=False, repr=False)
class FailDir(Act, word="fail-dir", does="make a log directory of a broker fail"):
    """Make a log directory of the broker fail, as if its disk had died. The replicas in the log directory go offline.

    The broker halts if it has no other directory, or if its release cannot run with a failed directory.
    """

    broker: int
    dir: int = 1


@attrs.frozen(eq=False, repr=False)
class RepairDir(Act, word="repair-dir", does="replace a failed log directory; the broker uses it after its next start"):
    """Replace a failed log directory with an empty one. With `empty: false`, restore the directory with its contents.

    The broker uses the directory after its next start.
    """

    broker: int
    dir: int = 1
    empty: bool = True


@attrs.frozen(eq=False, repr=False)
class MoveReplica(Act, word="move-replica", does="move a replica to another log directory of its broker"):
    """Move a replica to another log directory of its broker, as `kafka-reassign-partitions` does with log_dirs.

    A copy of the replica catches up with the replica, and then replaces it.
    """

    partition: TopicPartition
    broker: int
    dir: int


@attrs.frozen(eq=False, repr=False)
class SlowDisk(Act, word="slow-disk", does="slow down the disk writes of a broker, or restore the normal speed"):
    """Make each write to a broker's disk take `delay`. A delay of 0 restores the normal speed.

    Writes by the broker's fetchers and writes of producers' batches wait in the same queue.
    """

    broker: int
    delay: int
