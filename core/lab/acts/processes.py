"""Acts on processes, which read from one topic, write to another, and commit their offsets."""

from __future__ import annotations

import attrs

from core.lab.acts.act import Act
from core.lab.acts.applications import StartApplication, inherits_after


@attrs.frozen(eq=False, repr=False, field_transformer=inherits_after("subscribe"))
class StartProcess(
    StartApplication, word="process", does="start a process that reads from a topic, writes to a topic, and commits its offsets"
):
    """Start a process that reads `source`, writes `output`, and commits its offsets for `group` (consume–transform–produce).

    Each input record produces `copies` output records. `delivery` is `exactly-once` (the output and the offsets form one transaction, 0.11
    and later), `at-least-once` (the offsets are committed after the output), or `at-most-once` (the offsets are committed before the
    output). If the last instance of the process has ended, a new instance starts. By default, `transactional-id` is the name of the
    process. `reset` is auto.offset.reset, and `max-poll-records` is the maximum number of input records per round. With `crash-after`, the
    instance crashes when it has completed this step for the first time: init, fetch-offsets, poll, begin, produce, send-offsets, commit, or
    commit-offsets. The first act of this kind creates the topics `__consumer_offsets` and `__transaction_state`. `config` contains settings
    by their Kafka names, as for `init-transactions`. With `subscribe: true`, the process is a member of `group`: processes of the same
    group share the partitions of `source`. Then `config` can also contain settings of consumers, such as session.timeout.ms, and
    `assignors`, `protocol`, `remote-assignor`, and `instance-id` have the same meaning as for `join-group`. The application takes
    `poll-time` for each round, and `record-time` for each input record.
    """

    source: str
    output: str
    process: str = "process"
    group: str | None = None
    delivery: str = "exactly-once"
    transactional_id: str | None = None
    copies: int = 1
    reset: str | None = None
    max_poll_records: int = 500
    crash_after: str | None = None
    config: tuple[tuple[str, str], ...] = ()
    """Kafka settings of the clients in the process, by name (`core.kafka.clients.client_config`)."""
    subscribe: bool = False


@attrs.frozen(eq=False, repr=False)
class StopProcess(Act, word="stop-process", does="stop a process, which first aborts its open transaction"):
    """Stop a process. If the process has an open transaction, its producer aborts the transaction first (close)."""

    process: str = "process"


@attrs.frozen(eq=False, repr=False)
class KillProcess(Act, word="kill-process", does="kill a process (kill -9)"):
    """Kill a process.

    The transaction of the process stays open until another instance with the same transactional.id starts, or until the transaction exceeds
    transaction.timeout.ms.
    """

    process: str = "process"
