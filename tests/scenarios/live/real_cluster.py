"""A real cluster of three brokers on loopback in a state that shows what can be read: records of several leader epochs, a broker that is down, groups,
and an open transaction.

It needs Java 17 and the jars, which Maven fetches, as for `make record`; with KAFKA_HOME, the jars in its folder `libs` are used for its version.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from core.kafka.ids import TopicPartition
from scenarios.live.facts import LiveCluster, LivePartition
from scenarios.live.network.client_properties import ClientProperties
from scenarios.live.network.cluster_client import ClusterClient
from scenarios.live.read_cluster import read_cluster, read_metadata
from scenarios.live.read_transactions import read_producers
from scenarios.live.unknowns import Unknowns
from tests.fidelity.recorder.__main__ import compile_driver, producers
from tests.fidelity.recorder.cluster import CONTROLLER, PORT, Cluster, Driver
from tests.fidelity.recorder.jars import fetch_jars
from tests.fidelity.recorder.tools import TOOLS_JAR, Tools
from tests.scenarios.live.recording import Recorder, Recording

HERE: Final = Path(__file__).parent
BROKERS: Final = (1, 2, 3)
RACKS: Final = {1: "a", 2: "b", 3: "c"}
SECURE: Final = 20
"""What is added to the port of a broker for its listener with TLS and SASL."""

USER: Final = "alice"
PASSWORD: Final = 'a"lice-secret=1'

READY: Final = 90.0
"""The most time in seconds that a client or a state of the cluster takes."""

TOPICS: Final = {
    "orders": ([[1, 2, 3], [2, 3, 1], [3, 1, 2]], {"min.insync.replicas": "2", "segment.bytes": "1048576", "retention.ms": "86400000"}),
    "pay.ments": ([[2, 3]], {"cleanup.policy": "compact", "min.compaction.lag.ms": "1000", "flush.messages": "7", "max.message.bytes": "2000000"}),
    "audit": ([[2, 1], [1, 2]], {}),
}  # fmt: skip
"""The topics with their assignments and settings."""


class RealCluster(Cluster):
    """A cluster of three brokers, with what a test leaves running."""

    def __init__(self, version: str, folder: Path, *, secure: bool = False) -> None:
        release = tuple(int(number) for number in version.split("."))
        super().__init__(version, folder, zookeeper=release < (3, 3), brokers=BROKERS)
        self.secure = secure
        self.clients: list[subprocess.Popen[bytes]] = []
        home = os.environ.get("KAFKA_HOME")
        if home and list(Path(home, "libs").glob(f"kafka_2.1?-{version}.jar")):
            self.jars = Path(home, "libs")
        elif not self.jars.is_dir():
            fetch_jars(version, release, self.jars)

    def _write(self, name: str, properties: dict[str, Any]) -> None:
        """Write the configuration of a process, with a rack, and with a second listener if the cluster is to be secure."""
        node = int(name[1:]) if name[1:].isdecimal() else 0
        if node in RACKS:
            properties = {
                **properties,
                "broker.rack": RACKS[node],
                "offsets.topic.num.partitions": 4,
                "group.initial.rebalance.delay.ms": 0,
            }
            properties |= {
                "transaction.state.log.num.partitions": 3,
                "log.retention.hours": 100,
                "transaction.state.log.replication.factor": 3,
            }
            properties |= {"replica.lag.time.max.ms": 20_000 if node == 3 else 4_000}
        if self.secure and node in RACKS:
            properties = {**properties, **self._security(node, properties["listeners"])}
        super()._write(name, properties)

    def _security(self, node: int, listener: str) -> dict[str, Any]:
        return {
            "listeners": f"{listener},SASL_SSL://127.0.0.1:{PORT + SECURE + node}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
            "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required user_bob=\"bob-secret\";",
            "ssl.keystore.location": self.home / "broker.p12",
            "ssl.keystore.password": "changeit",
            "ssl.keystore.type": "PKCS12",
        }  # fmt: skip

    def prepare(self) -> None:
        """Write the configuration, and compile the clients."""
        shutil.rmtree(self.home, ignore_errors=True)
        compile_driver(self)
        classes = ["javac", "-nowarn", "-d", str(self.classes), "-cp", f"{self.jars}/*", str(HERE / "java" / "Clients.java")]
        subprocess.run(classes, check=True, capture_output=True)
        if self.secure:
            self.home.mkdir(parents=True)
            self._make_certificate()
            made = self.home.rename(self.home.with_name(self.home.name + "-certificate"))
            self.configure()
            for file in made.iterdir():
                file.rename(self.home / file.name)
            made.rmdir()
        else:
            self.configure()

    def _make_certificate(self) -> None:
        store = ["-keystore", str(self.home / "broker.p12"), "-storetype", "PKCS12", "-storepass", "changeit", "-alias", "broker"]
        self._keytool(
            "-genkeypair", *store, "-keyalg", "RSA", "-dname", "CN=broker", "-ext", "SAN=IP:127.0.0.1,DNS:localhost", "-validity", "3650"
        )
        self._keytool("-exportcert", *store, "-rfc", "-file", str(self.home / "broker.pem"))

    @staticmethod
    def _keytool(*words: str) -> None:
        subprocess.run(["keytool", *words], check=True, capture_output=True)

    def client(self, *words: object) -> None:
        """Start a client of `java/Clients.java`, and wait until it is ready."""
        log = self.home / f"client-{len(self.clients)}.log"
        with log.open("wb") as out:
            self.clients.append(
                subprocess.Popen(self.java("Clients", words[0], self.servers(), *words[1:], heap=96, quiet=True), stdout=out, stderr=out)
            )
        self.until(lambda: b"ready" in log.read_bytes(), READY)

    def tool(self, main: str, *words: object) -> str:
        """Return what a tool prints to stdout."""
        done = subprocess.run(self.java(main, *words, heap=96, quiet=True), capture_output=True, text=True)
        return done.stdout

    def down(self) -> None:
        """End every process."""
        for client in self.clients:
            client.kill()
            client.wait()
        super().down()


def stage(cluster: RealCluster, driver: Driver, tools: Tools) -> None:
    """Bring the cluster into the state that is read."""
    for topic, (assignment, settings) in TOPICS.items():
        cluster.until(
            lambda topic=topic, a=assignment, s=settings: "Created" in (told := tools.create(topic, a, s)) or "exists" in told, READY
        )  # type: ignore[misc]
    cluster.until(lambda: len(cluster.partitions(TOPICS)[1]) == 6, READY)
    driver.ask("warm", *TOPICS)

    def produce(number: int) -> None:
        names = [f"{topic}-{partition}" for topic, (rows, _) in TOPICS.items() for partition in range(len(rows))]
        asked = [driver.send("produce", *name.rsplit("-", 1), 5 + number, "all", number) for name in names]
        for each in asked:
            driver.wait(each)

    produce(0)
    cluster.kill(1)
    cluster.until(lambda: all(each["leader"] not in (1, -1) for each in cluster.partitions(["orders"])[1].values()), READY)
    produce(1)
    cluster.start(1)
    cluster.until(lambda: all(len(each["isr"]) == 3 for each in cluster.partitions(["orders"])[1].values()), READY)
    produce(2)
    cluster.client("consume", "billing", "biller", "orders,audit", "classic", 0)
    if cluster.release >= (4, 0):
        cluster.client("consume", "fast", "fast-one", "orders", "consumer", 0)
    cluster.client("consume", "done", "worker", "audit", "classic", 1)
    if cluster.release >= (3, 0):
        cluster.client("transaction", "payments-1", "orders-0", "audit-1")
    produce(3)
    cluster.kill(3)
    cluster.until(lambda: all(each["isr"].count(3) == 0 for each in cluster.partitions(["orders"])[1].values()), READY)
    cluster.until(lambda: 3 not in cluster.metadata(1, [])[1] and 3 not in cluster.metadata(2, [])[1], READY)
    time.sleep(5)  # The groups whose coordinator was broker 3 find the new one.


def read(bootstrap: str, properties: ClientProperties | None = None) -> tuple[LiveCluster, Recorder]:
    """Read a cluster, and record the session."""
    recorder = Recorder()
    with ClusterClient(bootstrap, properties or ClientProperties(), connect=recorder.connect) as client:
        return read_cluster(client), recorder


def record(cluster: RealCluster) -> Recording:
    """Read the staged cluster, and return the recording with what Kafka's tools print at the same time."""
    bootstrap = f"127.0.0.1:{PORT + 1}"
    _, recorder = read(bootstrap)
    producers_of = TopicPartition("orders", 0)
    if cluster.release >= (3, 0):
        with ClusterClient(bootstrap, ClientProperties(), connect=recorder.connect) as client:
            metadata = read_metadata(client, Unknowns(client))
            client.homes = {each.id: (each.host, each.port) for each in metadata.brokers.values()}
            read_producers(client, producers_of, metadata.topics["orders"].partitions[0].leader)
    at = ("--bootstrap-server", bootstrap)
    new = cluster.release >= TOOLS_JAR
    topics = "org.apache.kafka.tools.TopicCommand" if new else "kafka.admin.TopicCommand"
    groups = (
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand" if cluster.release >= (3, 8) else "kafka.admin.ConsumerGroupCommand"
    )
    texts = {
        "topics --describe": cluster.tool(topics, *at, "--describe"),
        "topics --describe --under-replicated-partitions": cluster.tool(topics, *at, "--describe", "--under-replicated-partitions"),
        "groups --list": cluster.tool(groups, *at, "--list"),
        **{
            f"groups --describe --all-groups{view}": cluster.tool(groups, *at, "--describe", "--all-groups", *view.split())
            for view in ("", " --members --verbose", " --state")
        },
    }
    if cluster.release >= (3, 0):
        transactions = "org.apache.kafka.tools.TransactionsCommand"
        texts["transactions list"] = cluster.tool(transactions, *at, "list")
        texts["transactions describe --transactional-id payments-1"] = cluster.tool(
            transactions, *at, "describe", "--transactional-id", "payments-1"
        )
        producers = ("describe-producers", "--topic", "orders", "--partition", "0")
        texts[f"transactions {' '.join(producers)}"] = cluster.tool(transactions, *at, *producers)
    disk = {str(broker): cluster.disk(broker, "") for broker in BROKERS}
    return Recording(cluster.version, bootstrap, texts, disk, recorder.exchanges)


def start(version: str, folder: Path, *, secure: bool = False) -> tuple[RealCluster, Driver, Tools]:
    """Start a cluster."""
    cluster = RealCluster(version, folder, secure=secure)
    cluster.prepare()
    cluster.up()
    driver = Driver(cluster.java("Driver", *producers(cluster), quiet=True, heap=128), cluster.home / "driver.log")
    return cluster, driver, Tools(cluster, driver)


def record_watch(version: str, work: Path) -> Recording:
    """Watch a cluster while the broker that leads most partitions is killed and comes back, and record the session.

    The texts of the recording are JSON: `times`, when each reading was asked for and arrived, and `changes`, what the controller's log says of every
    change of a partition, as [time, partition, leader, ISR], where leader and ISR are null if they did not change. Times are in seconds.
    """
    cluster = driver = None
    recorder = Recorder()
    times: list[tuple[float, float]] = []
    try:
        cluster, driver, tools = start(version, work)
        cluster.until(lambda: "Created" in tools.create("orders", [[2, 1, 3], [1, 2, 3], [3, 2, 1]], {}), READY)
        cluster.until(lambda: len(cluster.partitions(["orders"])[1]) == 3, READY)
        begun = time.time()
        with ClusterClient(f"127.0.0.1:{PORT + 1}", ClientProperties(), connect=recorder.connect) as client:

            def readings_until(true: Callable[[dict[int, LivePartition]], bool]) -> None:
                for _ in range(200):
                    asked = time.time()
                    seen = read_metadata(client, Unknowns(client))
                    times.append((asked - begun, time.time() - begun))
                    if true(dict(seen.topics["orders"].partitions)):
                        return
                    time.sleep(max(0.5 - (time.time() - asked), 0))

            readings_until(lambda rows: all(len(each.isr) == 3 for each in rows.values()))
            cluster.kill(2)
            readings_until(lambda rows: all(2 not in each.isr for each in rows.values()))
            cluster.launch(2)
            readings_until(lambda rows: all(len(each.isr) == 3 for each in rows.values()))
        return Recording(
            f"watch-{version}",
            f"127.0.0.1:{PORT + 1}",
            {"times": json.dumps(times), "changes": json.dumps(_changes(cluster, tools, begun))},
            {},
            recorder.exchanges,
        )
    finally:
        if driver is not None:
            driver.close()
        if cluster is not None:
            cluster.down()


def _changes(cluster: RealCluster, tools: Tools, begun: float) -> list[list[Any]]:
    """Return the changes of partitions in the controller's log."""
    found: list[list[Any]] = []
    names: dict[str, str] = {}
    moment = 0.0
    for line in tools.metadata_log(sorted((cluster.home / f"d{CONTROLLER}" / "__cluster_metadata-0").glob("*.log"))).splitlines():
        _, _, after = line.partition("CreateTime: ")
        moment = int(after.split()[0]) / 1000 - begun if after else moment
        _, _, payload = line.partition("payload: ")
        record = json.loads(payload) if payload.startswith("{") else {"type": ""}
        if record["type"] == "TOPIC_RECORD":
            names[record["data"]["topicId"]] = record["data"]["name"]
        elif record["type"] == "PARTITION_CHANGE_RECORD":
            data = record["data"]
            found.append([moment, f"{names[data['topicId']]}-{data['partitionId']}", data.get("leader"), data.get("isr")])
    return found


def make(version: str, work: Path) -> Recording:
    """Start a cluster, stage it, record it, and end it."""
    cluster = driver = None
    try:
        cluster, driver, tools = start(version, work)
        stage(cluster, driver, tools)
        return record(cluster)
    finally:
        if driver is not None:
            driver.close()
        if cluster is not None:
            cluster.down()
