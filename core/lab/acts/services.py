"""Acts on services that delay or retry records."""

from __future__ import annotations

import attrs

from core.kafka.applications.services.delay_levels import LEVELS
from core.lab.acts.act import Act
from core.lab.acts.applications import StartService, inherits_after


@attrs.frozen(eq=False, repr=False, field_transformer=inherits_after("service"))
class StartDelayService(StartService, word="delay-service", does="start a service that holds delayed records until they are due"):
    """Start a delay service for a topic. Each level has its own topic, such as `delay_topic_30s`, and its own worker, such as `delay-30s`.

    A worker reads the topic of its level, holds the records in memory, and sends each record to `topic` when the record is due: at its
    timestamp plus the level. Levels are whole numbers with a unit. If the worker holds `bound` records of a partition, it pauses the
    partition until it holds fewer than `resume-at`. Every `commit-every`, the worker commits offsets: with `commit: done`, the offset of
    the first record that it has not forwarded; with `commit: position`, the offset after the last record that it has polled. If the service
    is `transactional`, the forwarded records and the offsets are one transaction. `queue` is `priority` or `fifo`. `due-from` is the moment
    from which the delay is measured: `timestamp` or `read`. With `delays: record`, each record has the delay that its producer asked for,
    instead of the delay of its level. With `tick`, a timing wheel rounds due times up to a multiple of this time. With `crash-after`, each
    worker crashes when it has sent its first records but not handled the response (`send`), when they are acknowledged (`forward`), or when
    it has committed offsets (`commit`). If the workers have ended, the act starts new instances of the workers. `group` is the group of the
    workers; by default, the group has the name of the service. `config` contains settings by their Kafka names, as for `init-transactions`.

    With `instances: 2`, each level has the workers `delay-30s-1` and `delay-30s-2`. These workers are members of the group `delay-30s`,
    share the partitions of the topic, and take over the partitions of a worker that has left the group. Then `config` can also contain
    settings of consumers, such as session.timeout.ms. The fields `assignors`, `protocol`, and `remote-assignor` have the same meaning as
    for `join-group`. With `instance-id: host`, the workers are static members with the IDs `host-1` and `host-2`. If only some of the
    workers have ended, the act starts new workers in their places.

    The application takes `poll-time` for each poll that returns records, and `record-time` for each record that is due. While the
    application processes records, the worker does not call poll(). If more than max.poll.interval.ms passes before the next call to poll(),
    a worker that is a member of a group leaves the group.

    With `dead-letters: orders-dlt`, records that the destination topic never accepts go to this dead-letter topic. Such a record is too
    large, has no key although the destination topic is compacted, or expires after the destination topic was deleted. Without
    `dead-letters`, the worker keeps trying to send such records.

    With `over-max: chain`, a delay can be longer than the longest level: the worker of the longest level sends the record to the level that
    matches the rest of the delay. By default (`refuse`), a delay that is longer than the longest level is refused.
    """

    topic: str
    levels: tuple[str, ...] = LEVELS
    service: str = "delay"
    resume_at: int | None = None
    queue: str = "priority"
    due_from: str = "timestamp"
    delays: str = "level"
    tick: int = 0
    idempotence: bool | None = None
    group: str | None = None
    dead_letters: str | None = None
    over_max: str = "refuse"


@attrs.frozen(eq=False, repr=False)
class ProduceDelayed(Act, word="produce-delayed", does="produce records for delivery after a delay"):
    """Produce records that a delay service sends to its destination topic after the delay `after`.

    The records go to the topic of the shortest level that is long enough, or of the longest level if the service chains levels. With
    `rate`, the records are produced over time, and `every` is the time between two batches. Without a delay, the records go to the
    destination topic immediately. By default, the producer is named after the delay: `delayed-17s`.
    """

    after: int
    records: int
    service: str = "delay"
    rate: int = 0
    every: int = 100_000
    partition: int | None = None
    acks: str | None = None
    bytes: int = 100
    producer: str | None = None


@attrs.frozen(eq=False, repr=False, field_transformer=inherits_after("names"))
class StartRetryService(StartService, word="retry-service", does="start a service that retries records that fail"):
    """Start a service that processes a topic, and retries records that fail.

    A record that fails goes to the next retry topic, where another worker tries it again after the delay of that topic. If the last try
    fails, the record goes to the dead-letter topic. The topics have the same names as in Spring Kafka. For `orders`, the retry topics are
    named `orders-retry-5000` and so on or, with `names: index`, `orders-retry-0` and so on. The dead-letter topic is named `orders-dlt`. A
    worker is named after the service and its topic, for example `app-orders-retry-5000`. If the service is `blocking`, the same worker
    tries a record again, without a retry topic, and all later records of the partition wait. Without `dead-letters`, a blocking service
    skips records that fail for the last time. The other fields have the same meaning as for `delay-service`. The act `fail-processing`
    determines which records fail.

    With `count-tries: before`, a worker commits the number of each try before it starts the try, as metadata of the offset. If a record kills the
    process, the next instance knows how many tries were started. When all tries have been started, the record goes to the dead-letter topic.
    If the service is `transactional`, it commits a transaction for each record.

    With `dlt-strategy`, another worker handles the records in the dead-letter topic. If the worker's handler fails, the record goes to the
    dead-letter topic again (`always-retry`), or the worker gives up on the record (`fail`). The two values correspond to Spring Kafka's
    strategies ALWAYS_RETRY_ON_ERROR and FAIL_ON_ERROR.
    """

    topic: str
    delays: tuple[str, ...] = ("5s", "10s", "30s")
    service: str = "app"
    blocking: bool = False
    dead_letters: bool = True
    names: str = "delay"
    count_tries: str = "after"
    dlt_strategy: str | None = None


@attrs.frozen(eq=False, repr=False)
class FailProcessing(Act, word="fail-processing", does="make a share of a retry service's records fail"):
    """From now on, make a share of a retry service's records fail. With a share of 0%, no further records fail.

    In each batch, the first records fail, as many as the share requires. A fraction of a record is carried over to the next batch. With
    `tries`, each record fails at most this many times, and then succeeds. With `lasting`, records stop failing after the given time. With
    `kills`, a record that fails kills the process before it can send the record anywhere. `reason` is the name of the exception.
    """

    share_ppm: int
    service: str = "app"
    tries: int = 0
    lasting: int | None = None
    kills: bool = False
    reason: str = "IllegalStateException"


@attrs.frozen(eq=False, repr=False)
class StopService(Act, word="stop-service", does="stop a service; its workers commit their offsets first"):
    """Stop the workers of a service, or one `worker`. Each worker waits for its batches, commits its offsets, and ends."""

    service: str = "delay"
    worker: str | None = None


@attrs.frozen(eq=False, repr=False)
class KillService(Act, word="kill-service", does="kill the workers of a service (kill -9)"):
    """Kill the workers of a service, or one `worker`. The records that the workers hold in memory are lost."""

    service: str = "delay"
    worker: str | None = None
