"""Acts on brokers: their processes and machines."""

from __future__ import annotations

import attrs

from core.kafka.ids import TopicPartition
from core.lab.acts.act import Act


@attrs.frozen(eq=False, repr=False)
class Kill(Act, word="kill", does="kill a broker's process (kill -9); its logs survive"):
    """Kill the broker's process (`kill -9`). The broker's logs stay as they are, in the page cache of the machine."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class PowerLoss(Act, word="power-loss", does="cut the power of a broker's machine; unflushed records can be lost"):
    """Cut the power of the broker's machine. Some or all records above the recovery point of a log can be lost.

    `unflushed` determines how many of these records had already reached the disk: `drawn` (a random number for each log, from the
    seed), `lost` (none), or `kept` (all). Alternatively, `keep` gives the offset up to which the log of each partition had reached
    the disk. Partitions that are not in `keep` lose nothing.
    """

    broker: int
    keep: tuple[tuple[TopicPartition, int], ...] = ()
    unflushed: str = "drawn"


@attrs.frozen(eq=False, repr=False)
class Shutdown(Act, word="shutdown", does="shut a broker down cleanly (controlled shutdown)"):
    """Shut the broker down cleanly (SIGTERM). Other brokers become leaders of the broker's partitions, the broker writes its high
    watermarks to disk, and its process ends.
    """

    broker: int


@attrs.frozen(eq=False, repr=False)
class Start(Act, word="start", does="start a stopped broker"):
    """Start the process of a stopped broker again."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class Pause(Act, word="pause", does="pause a broker's process, as a long GC pause would"):
    """Pause the broker's process, as a long GC pause or SIGSTOP would. The process neither handles nor sends messages, and messages to it
    wait."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class Resume(Act, word="resume", does="resume a paused broker"):
    """Resume a paused broker."""

    broker: int
