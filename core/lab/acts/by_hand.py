"""Acts that step a cluster by hand."""

from __future__ import annotations

import attrs

from core.kafka.ids import TopicPartition
from core.lab.acts.act import Act


@attrs.frozen(eq=False, repr=False)
class SetPace(Act, word="pace", does="step a running cluster by hand, or let it run by itself again"):
    """Change the pace of a running cluster to `by-hand` or `timeline`.

    If the pace is `by-hand`, followers fetch and loads produce only when an act tells them to, and messages arrive immediately. Brokers
    continue with their other tasks, but virtual time passes only when you advance it. If the pace is `timeline`, everything runs
    automatically.
    """

    pace: str


@attrs.frozen(eq=False, repr=False)
class Fetch(Act, word="fetch", does="make a follower fetch; the leader answers immediately", by_hand=True):
    """Run one turn of a follower's fetcher: the follower sends a fetch, the leader answers immediately, and the follower appends.

    Because the leader answers immediately, the answer contains the high watermark from before this fetch. If the fetcher must truncate the
    log first, it does so in the same turn. If the follower fetches from several leaders, `leader` selects one.
    """

    follower: int
    leader: int | None = None
    records: int | None = None
    """The maximum number of records per partition in the response to the fetch."""


@attrs.frozen(eq=False, repr=False)
class Arrive(Act, word="arrive", does="deliver a follower's fetch to the leader, where it waits", by_hand=True):
    """Deliver a follower's fetch to the leader. The fetch updates the leader's view of the follower, and waits in the purgatory."""

    follower: int
    leader: int | None = None


@attrs.frozen(eq=False, repr=False)
class Answer(Act, word="answer", does="answer a waiting fetch", by_hand=True):
    """Answer a follower's fetch that is waiting in the purgatory. The leader reads the log and the high watermark at this moment.

    `records` is the maximum number of records in the answer. `lost` drops the answer in transit. `corrupt` flips bits in the records, so
    that their checksums are wrong.
    """

    follower: int
    leader: int | None = None
    records: int | None = None
    lost: bool = False
    corrupt: bool = False


@attrs.frozen(eq=False, repr=False)
class Fence(Act, word="fence", does="make the controller fence a broker", by_hand=True):
    """Make the controller notice that the session of a broker has expired."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class Bounce(Act, word="bounce", does="restart a broker faster than the controller notices", by_hand=True):
    """Restart a broker's process so fast that the controller does not notice.

    With `clean`, the broker first writes the high-watermark checkpoint, as in a clean shutdown. Without `clean`, the broker uses the last
    checkpoint. With `keep`, the whole machine restarts, not only the process. The given partitions then keep only the records below the
    given offsets.
    """

    broker: int
    clean: bool = True
    keep: tuple[tuple[TopicPartition, int], ...] = ()


@attrs.frozen(eq=False, repr=False)
class Checkpoint(Act, word="checkpoint", does="make a broker write its high watermarks to disk", by_hand=True):
    """Write the high watermarks of a broker to disk."""

    broker: int


@attrs.frozen(eq=False, repr=False)
class CheckIsr(Act, word="check-isr", does="make a broker check its ISRs for followers to remove", by_hand=True):
    """Run the isr-expiration task of a broker for the partitions that it leads."""

    broker: int
