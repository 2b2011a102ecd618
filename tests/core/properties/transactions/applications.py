"""The applications of the transactional swarm: they decide what their producers and processes do next, from what those report.

An application lives longer than its instances. If an instance can't go on, or a fault takes it away, the application starts the next one with the
same transactional.id.
"""

from __future__ import annotations

import random
from typing import Final

import attrs

from core.kafka.applications.processes.process_step import ProcessStep
from core.kafka.clients.producer.producer_transaction_state import ProducerTransactionState
from core.kafka.ids import TopicPartition
from core.lab import acts
from core.lab.cluster import Cluster
from core.sim.units import SECOND, US_PER_MS
from tests.core.properties.timelines import attempt

_S = ProducerTransactionState

BANK: Final = "bank"
SOURCE: Final = "in"
OUTPUT: Final = "out"
GROUP: Final = "app"
COPIES: Final = 2


@attrs.define
class Transaction:
    """One transaction as its application knows it.

    Attributes:
        tag: the value of its records.
        order: the instance, and the number of the transaction among those of the instance.
        sent: the partition and key of each record.
        outcome: `open`, `committed`, `aborted`, or `unknown` once the application asked for a commit and has no answer.
    """

    tag: str
    order: tuple[int, int]
    sent: list[tuple[int, str]] = attrs.Factory(list)
    outcome: str = "open"


@attrs.define
class Instance:
    """One producer of an application.

    Attributes:
        name: the name of the producer.
        number: the number of the instance, from 1.
        at: the time of its next action, in µs.
        transaction: its present transaction; None if it has none.
        sends: how many more times it sends records in this transaction.
        commits: whether it means to commit the transaction.
        begun: the number of transactions that it began.
        gone: whether nothing drives it anymore.
        finished: whether it has ended the last transaction of the run.
    """

    name: str
    number: int
    at: int
    transaction: Transaction | None = None
    sends: int = 0
    commits: bool = True
    begun: int = 0
    gone: bool = False
    finished: bool = False


class Bank:
    """An application that writes transactions to several partitions.

    Attributes:
        transactional_id: the transactional.id.
        instances: all instances, the newest one last.
        transactions: all transactions.
        last: whether the next transaction is the last one, which must commit.
    """

    def __init__(self, transactional_id: str, seed: int, partitions: int, config: tuple[tuple[str, str], ...], pause: int) -> None:
        self.transactional_id = transactional_id
        self.draw = random.Random(f"{seed}:{transactional_id}")
        self.partitions = partitions
        self.config = config
        self.pause = pause
        self.instances: list[Instance] = []
        self.transactions: list[Transaction] = []
        self.last = False

    @property
    def finished(self) -> bool:
        """Whether the newest instance has committed the last transaction."""
        return bool(self.instances) and self.instances[-1].finished

    def take_over(self, now: int) -> None:
        """Start another instance while the present one goes on, which is a zombie from then on."""
        number = len(self.instances) + 1
        self.instances.append(Instance(f"{self.transactional_id}-{number}", number, now))

    def lose(self, cluster: Cluster) -> None:
        """The machine of the present instance loses its network, and another instance starts soon."""
        present = self.instances[-1]
        present.gone = True
        if present.name in cluster.clients:
            attempt(cluster, acts.Isolate(present.name))
        self.take_over(cluster.now + self.draw.choice((0, 100, 3_000)) * US_PER_MS)

    def rest(self) -> None:
        """Do nothing more with any instance."""
        for instance in self.instances:
            instance.gone = True

    def finish(self, now: int) -> None:
        """Ask the newest instance for one last transaction, and the others for none."""
        self.last = True
        if self.instances[-1].gone:
            self.take_over(now)
        for instance in self.instances[:-1]:
            instance.gone = True

    def look(self, cluster: Cluster) -> None:
        """Have each instance do what it can do now."""
        for instance in list(self.instances):
            if not instance.gone and not instance.finished and cluster.now >= instance.at:
                self._act(cluster, instance)

    def _act(self, cluster: Cluster, instance: Instance) -> None:
        producer = cluster.clients.producer(instance.name)
        if producer is None:
            attempt(cluster, acts.InitTransactions(BANK, self.transactional_id, instance.name, self.config))
            return
        manager = producer.transactions
        assert manager is not None
        match manager.state:
            case _S.READY if not manager.call:
                self._ready(cluster, instance)
            case _S.IN_TRANSACTION:
                self._in_transaction(cluster, instance)
            case _S.ABORTABLE_ERROR if not manager.call:
                if instance.transaction is not None:
                    instance.transaction.outcome = "open"
                attempt(cluster, acts.AbortTransaction(instance.name))
            case _S.FATAL_ERROR:
                instance.gone = True
                if instance is self.instances[-1]:
                    self.take_over(cluster.now + 100 * US_PER_MS)
            case _:
                pass

    def _ready(self, cluster: Cluster, instance: Instance) -> None:
        ended = instance.transaction
        if ended is not None:
            instance.transaction = None
            ended.outcome = "committed" if ended.outcome == "unknown" else "aborted"
            if self.last and ended.outcome == "committed":
                instance.finished = True
                return
            instance.at = cluster.now + self.draw.randrange(2 * self.pause)
            return
        if not attempt(cluster, acts.BeginTransaction(instance.name)):
            return
        instance.begun += 1
        order = (instance.number, instance.begun)
        instance.transaction = Transaction(f"{self.transactional_id}/{order[0]}/{order[1]}", order)
        self.transactions.append(instance.transaction)
        instance.sends = self.draw.choice((1, 1, 2, 3))
        instance.commits = self.last or self.draw.random() < 0.7

    def _in_transaction(self, cluster: Cluster, instance: Instance) -> None:
        transaction = instance.transaction
        assert transaction is not None
        if not instance.sends:
            if instance.commits:
                if attempt(cluster, acts.CommitTransaction(instance.name)) and transaction.outcome == "open":
                    transaction.outcome = "unknown"
            else:
                attempt(cluster, acts.AbortTransaction(instance.name))
            return
        instance.sends -= 1
        partition, count = self.draw.randrange(self.partitions), self.draw.choice((1, 2))
        keys = [f"r{len(transaction.sent) + number}" for number in range(count)]
        if attempt(cluster, acts.Produce(BANK, count, partition, producer=instance.name, keys=",".join(keys), value=transaction.tag)):
            transaction.sent += [(partition, key) for key in keys]
        instance.at = cluster.now + self.draw.choice((0, 0, self.draw.randrange(2 * self.pause)))


class Worker:
    """An application that reads one topic and writes another with exactly-once delivery.

    Attributes:
        names: the names of its processes, which take turns; each has a transactional.id of its own.
    """

    def __init__(self, seed: int, names: tuple[str, ...], config: tuple[tuple[str, str], ...], max_poll_records: int) -> None:
        self.draw = random.Random(f"{seed}:worker")
        self.names = names
        self.config = config
        self.max_poll_records = max_poll_records
        self.turn = 0
        self.at = 0
        self.last = False

    @property
    def name(self) -> str:
        """The name of the present process."""
        return self.names[self.turn % len(self.names)]

    def look(self, cluster: Cluster) -> None:
        """Start the next instance a while after the present one has ended."""
        process = cluster.clients.process(self.name)
        if process is not None and process.running:
            return
        if process is not None and not self.at:
            self.at = cluster.now + self.draw.choice((1, 200, 2_000)) * US_PER_MS
            return
        if cluster.now < self.at:
            return
        self.at = 0
        self.turn += process is not None
        step = self.draw.choice(CRASHES)
        crash = step.value if self.draw.random() < 0.3 and not self.last else None
        start = acts.StartProcess(
            SOURCE, OUTPUT, self.name, GROUP, copies=COPIES, max_poll_records=self.max_poll_records, crash_after=crash, config=self.config
        )
        if not attempt(cluster, start):
            self.turn -= process is not None
            self.at = cluster.now + SECOND


CRASHES: Final = (
    ProcessStep.INIT, ProcessStep.FETCH_OFFSETS, ProcessStep.POLL, ProcessStep.BEGIN, ProcessStep.PRODUCE, ProcessStep.SEND_OFFSETS, ProcessStep.COMMIT,
)  # fmt: skip
"""The steps after which an instance can crash."""


def partition_of_bank(number: int) -> TopicPartition:
    """Return a partition of the topic that transactions write."""
    return TopicPartition(BANK, number)
