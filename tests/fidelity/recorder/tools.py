"""The acts that a tool performs: through the Admin API since 2.4, and through the release's command-line tools and ZooKeeper before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tests.fidelity.recorder.cluster import CONTROL_PORT, Cluster, Driver

ADMIN_API: Final = (2, 4)
"""The first release whose acts go through the Admin API."""

DESCRIBES_BROKERS: Final = (2, 2)
"""The first release whose kafka-topics asks brokers."""

TOOLS_DUMP: Final = (4, 3)
"""The first release whose kafka-dump-log is in the artifact kafka-tools."""

TOOLS_JAR: Final = (3, 7)
"""The first release whose kafka-topics is in the artifact kafka-tools."""

EXIT: Final = re.compile(r"(?:[\w ]*: )?exit \d+\nDriver\$Exited: exit \d+\n(?:\tat .*\n)*\n?")
"""What a tool prints about the exception with which `Driver` keeps it from ending the process."""


class Tools:
    """The tools of a cluster's release. Every method returns the tool's output, in which `Error` stands if the act was refused."""

    def __init__(self, cluster: Cluster, driver: Driver) -> None:
        self.cluster = cluster
        self.driver = driver
        self.client = cluster.home / "client.properties"
        self.client.write_text("request.timeout.ms=2000\ndefault.api.timeout.ms=8000\n")
        self.zookeeper = ("--zookeeper", f"127.0.0.1:{CONTROL_PORT}")

    @property
    def _admin(self) -> bool:
        return self.cluster.release >= ADMIN_API

    def _run(self, name: str, *arguments: object) -> str:
        return EXIT.sub("", self.driver.ask("tool", name, *arguments))

    def describe(self, prefix: str, *options: str) -> str:
        """kafka-topics --describe of the topics with a prefix."""
        main = "org.apache.kafka.tools.TopicCommand" if self.cluster.release >= TOOLS_JAR else "kafka.admin.TopicCommand"
        where: Sequence[object] = self.zookeeper
        if self.cluster.release >= DESCRIBES_BROKERS:
            where = ("--bootstrap-server", self.cluster.servers(), "--command-config", self.client)
        return self._run(main, *where, "--describe", "--topic", f"{prefix}.*", *options)

    def create(self, topic: str, assignment: Sequence[Sequence[int]], settings: dict[str, str]) -> str:
        """Create a topic with a given assignment."""
        replicas = ",".join(":".join(map(str, row)) for row in assignment)
        if self._admin:
            return self.driver.ask("create", self.cluster.servers(), topic, replicas, *(word for pair in settings.items() for word in pair))
        configs = [word for name, value in settings.items() for word in ("--config", f"{name}={value}")]
        return self._run(
            "kafka.admin.TopicCommand", *self.zookeeper, "--create", "--topic", topic, "--replica-assignment", replicas, *configs
        )

    def delete_topic(self, topic: str) -> str:
        """Delete a topic."""
        if self._admin:
            return self.driver.ask("delete-topic", self.cluster.servers(), topic)
        return self._run("kafka.admin.TopicCommand", *self.zookeeper, "--delete", "--topic", topic)

    def config(self, topic: str, name: str, value: str) -> str:
        """Set a setting of a topic."""
        if self._admin:
            return self.driver.ask("config", self.cluster.servers(), topic, name, value)
        if self.cluster.release < (0, 9):
            return self._run("kafka.admin.TopicCommand", *self.zookeeper, "--alter", "--topic", topic, "--config", f"{name}={value}")
        entity = ("--entity-type", "topics", "--entity-name", topic)
        return self._run("kafka.admin.ConfigCommand", *self.zookeeper, "--alter", *entity, "--add-config", f"{name}={value}")

    def elect(self, kind: str, partitions: Iterable[str], *, every: bool) -> str:
        """Elect leaders of partitions; with `every`, the Admin API is asked for all partitions of the cluster."""
        if self._admin:
            return self.driver.ask("elect", self.cluster.servers(), kind, *([] if every else partitions))
        rows = [{"topic": topic, "partition": int(number)} for topic, _, number in (name.rpartition("-") for name in partitions)]
        file = self._file("election", {"partitions": rows})
        return self._run("kafka.admin.PreferredReplicaLeaderElectionCommand", *self.zookeeper, "--path-to-json-file", file)

    def reassign(self, partition: str, replicas: Sequence[int]) -> str:
        """Reassign a partition to other brokers."""
        if self._admin:
            return self.driver.ask("reassign", self.cluster.servers(), partition, ",".join(map(str, replicas)))
        topic, _, number = partition.rpartition("-")
        file = self._file(
            "reassignment", {"version": 1, "partitions": [{"topic": topic, "partition": int(number), "replicas": list(replicas)}]}
        )
        return self._run("kafka.admin.ReassignPartitionsCommand", *self.zookeeper, "--reassignment-json-file", file, "--execute")

    def delete(self, partition: str, offset: int) -> str:
        """Delete the records of a partition before an offset."""
        if self._admin:
            return self.driver.ask("delete", self.cluster.servers(), partition, offset)
        topic, _, number = partition.rpartition("-")
        file = self._file("offsets", {"version": 1, "partitions": [{"topic": topic, "partition": int(number), "offset": offset}]})
        arguments = ("--bootstrap-server", self.cluster.servers(), "--command-config", self.client, "--offset-json-file", file)
        text = self._run("kafka.admin.DeleteRecordsCommand", *arguments)
        return text if re.search(r"low_watermark: \d", text) else f"Error: {text}"

    def metadata_log(self, files: Iterable[Path]) -> str:
        """Print the records of the controller's log."""
        main = "org.apache.kafka.tools.DumpLogSegments" if self.cluster.release >= TOOLS_DUMP else "kafka.tools.DumpLogSegments"
        return self._run(main, "--cluster-metadata-decoder", "--files", ",".join(map(str, files)))

    def _file(self, name: str, content: object) -> Path:
        path = self.cluster.home / f"{name}.json"
        path.write_text(json.dumps(content))
        return path
