"""A cluster of one release on loopback: four brokers, and a KRaft controller or a ZooKeeper server."""

from __future__ import annotations

import base64
import contextlib
import glob
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from tests.fidelity.recorder.course import BROKERS
from tests.fidelity.recorder.wire import EARLIEST, LATEST, ZooKeeper, metadata, metadata_version, offsets, topic_partitions

PORT: Final = 23100
"""The port of broker 0; broker N listens on the N-th port after it."""

CONTROLLER: Final = 100
"""The id of the controller, and the name of the ZooKeeper server's process."""

CONTROL_PORT: Final = PORT + 10
"""The port of the controller or of the ZooKeeper server."""

SESSION_MS: Final = 4000
"""broker.session.timeout.ms or zookeeper.session.timeout.ms, and replica.lag.time.max.ms."""

START: Final = 60.0
"""The most time in seconds that the whole cluster can take to start."""

FILTERS: Final = ("under-replicated", "unavailable", "under-min-isr", "at-min-isr")
"""The options of kafka-topics that select partitions, without `-partitions`."""

LOG4J: Final = """log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.org.apache.zookeeper=ERROR
"""

LOG4J2: Final = """status = error
appender.stdout.type = Console
appender.stdout.name = stdout
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.stdout.ref = stdout
"""


class Driver:
    """The Java process with the release's producers, tools, and Admin API (`java/Driver.java`)."""

    def __init__(self, command: list[str], errors: Path) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors.open("a"), text=True)
        self.asked = 0
        self.answers: dict[str, str] = {}
        self.changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = re.match(r"@(\d+) (.*)", line)
            if found:
                with self.changed:
                    self.answers[found[1]] = base64.b64decode(found[2]).decode()
                    self.changed.notify_all()

    def send(self, *words: object) -> str:
        """Send a request, and return its number."""
        assert self.process.stdin is not None
        self.asked += 1
        self.process.stdin.write("\t".join([str(self.asked), *map(str, words)]) + "\n")
        self.process.stdin.flush()
        return str(self.asked)

    def wait(self, number: str, timeout: float = 120) -> str:
        """Return the answer to a request."""
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.answers, timeout):
                return "Error: no answer"
            return self.answers.pop(number)

    def ask(self, *words: object) -> str:
        """Send a request, and return its answer."""
        return self.wait(self.send(*words))

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


class Cluster:
    """The processes of a cluster, which are ended by `down`.

    Attributes:
        version: the Kafka version, such as 2.7.2; release: its numbers.
        zookeeper: the cluster has a ZooKeeper server instead of a KRaft controller.
        brokers: the IDs of the brokers.
        home: the folder of the cluster's files; jars, classes: the release's libraries and the recorder's classes.
    """

    def __init__(self, version: str, folder: Path, *, zookeeper: bool, brokers: tuple[int, ...] = tuple(BROKERS)) -> None:
        self.version = version
        self.brokers = brokers
        self.release = tuple(int(number) for number in version.split("."))
        self.zookeeper = zookeeper
        self.home = folder / f"run-{version}"
        self.jars, self.classes = folder / f"jars-{version}", folder / f"classes-{version}"
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.paused: set[int] = set()
        self.metadata_version = metadata_version(self.release)

    # --- processes ---------------------------------------------------------------------------------------------------

    def java(self, main: str, *arguments: object, heap: int = 256, quiet: bool = False) -> list[str]:
        """Return the command that runs a class with the release's libraries."""
        logging = (
            []
            if quiet
            else [f"-Dlog4j.configuration=file:{self.home}/log4j.properties", f"-Dlog4j2.configurationFile={self.home}/log4j2.properties"]
        )
        return [
            "java", f"-Xmx{heap}m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.security.manager=allow",
            "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.jmx.log4j.disable=true", *logging, "-cp", f"{self.jars}/*:{self.classes}", main, *map(str, arguments),
        ]  # fmt: skip

    def configure(self) -> None:
        """Write the configuration of every process."""
        self.home.mkdir(parents=True)
        (self.home / "log4j.properties").write_text(LOG4J)
        (self.home / "log4j2.properties").write_text(LOG4J2)
        common = {
            "replica.lag.time.max.ms": SESSION_MS,
            "auto.leader.rebalance.enable": "false",
            "auto.create.topics.enable": "false",
            "delete.topic.enable": "true",
            "num.network.threads": 2,
            "num.io.threads": 2,
            "log.cleaner.enable": "false",
            "background.threads": 4,
        }
        if self.zookeeper:
            server = {
                "tickTime": 500,
                "dataDir": f"{self.home}/zk",
                "clientPort": CONTROL_PORT,
                "clientPortAddress": "127.0.0.1",
                "maxClientCnxns": 0,
            }
            self._write("zookeeper", server)
            for broker in self.brokers:
                own = {"broker.id": broker, "listeners": f"PLAINTEXT://127.0.0.1:{PORT + broker}", "log.dirs": f"{self.home}/d{broker}"}
                if self.release < (0, 9):
                    own |= {"port": PORT + broker, "host.name": "127.0.0.1"}
                connection = {"zookeeper.connect": f"127.0.0.1:{CONTROL_PORT}", "zookeeper.session.timeout.ms": SESSION_MS}
                self._write(f"b{broker}", {**common, **own, **connection})
            return
        common |= {
            "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{CONTROL_PORT}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "broker.session.timeout.ms": SESSION_MS,
            "broker.heartbeat.interval.ms": 500,
        }
        for node in (CONTROLLER, *self.brokers):
            role = "controller" if node == CONTROLLER else "broker"
            listener = f"CONTROLLER://127.0.0.1:{CONTROL_PORT}" if node == CONTROLLER else f"PLAINTEXT://127.0.0.1:{PORT + node}"
            own = {"process.roles": role, "node.id": node, "listeners": listener, "log.dirs": f"{self.home}/d{node}"}
            if node != CONTROLLER:
                own["inter.broker.listener.name"] = "PLAINTEXT"
            self._write(f"b{node}", {**common, **own})
            arguments = ("format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", self.home / f"b{node}.properties")
            done = subprocess.run(self.java("kafka.tools.StorageTool", *arguments, heap=128), capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stdout + done.stderr)

    def _write(self, name: str, properties: dict[str, Any]) -> None:
        (self.home / f"{name}.properties").write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    def launch(self, node: int) -> None:
        """Start the process of a broker, of the controller, or of the ZooKeeper server."""
        main, name = "kafka.Kafka", f"b{node}"
        if self.zookeeper and node == CONTROLLER:
            main, name = "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zookeeper"
        with (self.home / f"{name}.log").open("a") as log:
            self.processes[node] = subprocess.Popen(
                self.java(main, self.home / f"{name}.properties"),
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.home,
                start_new_session=True,
            )

    def until(self, true: Callable[[], bool], seconds: float) -> float:
        """Wait until something is true, at most for some seconds, and return the time that it took."""
        begun = time.time()
        while time.time() - begun < seconds:
            with contextlib.suppress(OSError, struct.error):
                if true():
                    break
            time.sleep(0.05)
        return time.time() - begun

    def start(self, broker: int, seconds: float = 30) -> dict[str, float]:
        """Start a broker, and wait until it is unfenced and answers.

        Returns:
            the time from the start of the process until its registration in ZooKeeper (`registered_s`, only with ZooKeeper) and until it
            is a live broker in its own metadata (`unfenced_s`), in seconds.
        """
        self.launch(broker)
        note = {}
        begun = time.time()
        if self.zookeeper:
            note["registered_s"] = self.until(lambda: self._registered(broker, begun), seconds)
        self.until(lambda: broker in self.metadata(broker, [])[1], seconds)
        if self.processes[broker].poll() is not None:
            raise RuntimeError(f"broker {broker} ended; see {self.home}/b{broker}.log")
        note["unfenced_s"] = time.time() - begun
        return note

    def _zookeeper_answers(self) -> bool:
        with ZooKeeper(CONTROL_PORT) as server:
            return server.children("/") != []

    def _registered(self, broker: int, since: float) -> bool:
        """Return whether a broker has registered since a time. The znode of its previous session can still be there."""
        with ZooKeeper(CONTROL_PORT) as server:
            found = server.data(f"/brokers/ids/{broker}")
        return found is not None and int(found[0]["timestamp"]) >= since * 1000

    def up(self) -> None:
        """Start all processes."""
        self.launch(CONTROLLER)
        if self.zookeeper:
            self.until(self._zookeeper_answers, 30)
        for broker in self.brokers:
            self.launch(broker)
        waited = self.until(lambda: all(set(self.metadata(broker, [])[1]) == set(self.brokers) for broker in self.running()), START)
        if waited >= START or len(self.running()) < len(self.brokers):
            raise RuntimeError(f"not all brokers have started; see {self.home}")

    def kill(self, node: int) -> None:
        """Kill a process."""
        self.processes[node].send_signal(signal.SIGKILL)
        self.processes[node].wait()
        self.paused.discard(node)

    def stop(self, node: int) -> float:
        """Stop a process, and return the time in seconds that it took; -1 if it had to be killed."""
        begun = time.time()
        self.processes[node].send_signal(signal.SIGTERM)
        try:
            self.processes[node].wait(45)
        except subprocess.TimeoutExpired:
            self.kill(node)
            return -1.0
        return time.time() - begun

    def pause(self, node: int) -> None:
        """Pause a process."""
        self.processes[node].send_signal(signal.SIGSTOP)
        self.paused.add(node)

    def resume(self, node: int) -> None:
        """Resume a paused process."""
        self.processes[node].send_signal(signal.SIGCONT)
        self.paused.discard(node)

    def restart_controller(self) -> float:
        """Kill and start the controller, and return the time in seconds until it listens."""
        self.kill(CONTROLLER)
        self.launch(CONTROLLER)

        def listens() -> bool:
            socket.create_connection(("127.0.0.1", CONTROL_PORT), 1).close()
            return True

        return self.until(listens, 30)

    def running(self) -> list[int]:
        """Return the brokers whose process runs and is not paused."""
        return [
            broker
            for broker in self.brokers
            if broker in self.processes and self.processes[broker].poll() is None and broker not in self.paused
        ]

    def servers(self) -> str:
        """Return the addresses of the running brokers."""
        return ",".join(f"127.0.0.1:{PORT + broker}" for broker in self.running() or self.brokers)

    def down(self) -> None:
        """Kill every process that is left."""
        for node, process in self.processes.items():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                self.kill(node)

    # --- what it shows -----------------------------------------------------------------------------------------------

    def metadata(self, broker: int, topics: Iterable[str]) -> tuple[int, list[int], dict[str, dict[str, Any]]]:
        """Return controller, live brokers, and partitions, as a broker knows them."""
        topics = list(topics) or (["-"] if self.metadata_version == 0 else [])
        return metadata(PORT + broker, topics, self.metadata_version)

    def partitions(self, topics: Iterable[str]) -> tuple[int, dict[str, dict[str, Any]]]:
        """Return the controller and the partitions of topics, from the first running broker that answers."""
        topics = list(topics)
        for broker in self.running():
            try:
                controller, _, found = self.metadata(broker, topics)
                return controller, topic_partitions(PORT + broker, topics) if self.release >= (3, 9) else found
            except (OSError, struct.error) as error:
                print(f"broker {broker}: {error}", file=sys.stderr)
        return -1, {}

    def offsets(self, partitions: dict[str, dict[str, Any]]) -> dict[str, dict[str, str]]:
        """Return the latest and the earliest offset of each partition that has a leader, as the leader tells them to clients."""
        found: dict[str, dict[str, str]] = {}
        for broker in self.running():
            led = [name for name, state in partitions.items() if state["leader"] == broker]
            for word, timestamp in (("latest", LATEST), ("earliest", EARLIEST)) if led and self.release >= (0, 10, 1) else ():
                try:
                    told = offsets(PORT + broker, led, timestamp)
                except (OSError, struct.error) as error:
                    told = dict.fromkeys(led, str(error))
                for name, value in told.items():
                    found.setdefault(name, {})[word] = value
        return found

    def znodes(self, topics: Iterable[str]) -> dict[str, Any]:
        """Return the partition states, the registered brokers, and the controller in ZooKeeper."""
        if not self.zookeeper:
            return {}
        with ZooKeeper(CONTROL_PORT) as server:
            return {"zk": server.partition_states(topics), "zk_ids": server.brokers(), "controller": server.controller()}

    def disk(self, broker: int, prefix: str) -> dict[str, dict[str, Any]]:
        """Return end offset, leader-epoch entries, and checkpointed high watermark of each replica on a broker's disk."""
        folder = self.home / f"d{broker}"
        watermarks = {}
        with contextlib.suppress(OSError):
            for line in (folder / "replication-offset-checkpoint").read_text().splitlines():
                words = line.split()
                if len(words) == 3:
                    watermarks[f"{words[0]}-{words[1]}"] = int(words[2])
        found: dict[str, dict[str, Any]] = {}
        for path in sorted(folder.glob(f"{prefix}*-*")):
            segments = sorted(glob.glob(f"{path}/*.log"))
            if segments and not path.name.endswith(("-delete", "-future", "-stray")):
                found[path.name] = {"leo": _end_offset(Path(segments[-1])), "epochs": _epochs(path), "hwck": watermarks.get(path.name)}
        return found


def _end_offset(segment: Path) -> int:
    """Return the offset after the last record of a segment, of batches (magic 2) or of single messages (before 0.11)."""
    end, at, data = int(segment.name[:20]), 0, segment.read_bytes()
    while at + 17 <= len(data):
        base, size = struct.unpack_from(">qi", data, at)
        if size <= 0:
            break
        end = base + 1 + (struct.unpack_from(">i", data, at + 23)[0] if data[at + 16] >= 2 else 0)
        at += 12 + size
    return end


def _epochs(folder: Path) -> list[list[int]] | None:
    try:
        lines = (folder / "leader-epoch-checkpoint").read_text().splitlines()[2:]
    except OSError:
        return None
    return [[int(word) for word in line.split()] for line in lines]


def priority() -> None:
    """Give this process and its children a higher priority, where that is allowed, so that other work does not starve the cluster."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)
