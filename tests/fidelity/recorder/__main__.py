"""Records failure drills on a real cluster: `python -m tests.fidelity.recorder VERSION SEED... [--work FOLDER] [--into FOLDER]`.

`README.md` beside this file says what it needs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.fidelity.recorder.cluster import BROKERS, CONTROLLER, FILTERS, SESSION_MS, Cluster, Driver, priority
from tests.fidelity.recorder.course import PARTITIONS, TOPICS, Abilities, Act, course
from tests.fidelity.recorder.jars import fetch_jars
from tests.fidelity.recorder.tools import Tools

HERE: Final = Path(__file__).parent
"""The folder of the recorder."""

DELIVERY_MS: Final = 8000
REQUEST_MS: Final = 3000
METADATA_MAX_AGE_MS: Final = 5000
RETRIES: Final = 5
"""`retries` of producers before 2.1, which have no delivery.timeout.ms."""

WAIT: Final = {
    "kill": 6.5, "stop": 2.5, "start": 4.0, "pause": 8.0, "cont": 4.5, "produce": 1.5, "config": 2.0, "elect": 2.0, "controller": 6.0,
    "delete": 2.0, "reassign": 4.0,
}  # fmt: skip
"""The least time in seconds from an act until its state is recorded."""

SLOW_WAIT: Final = {"start": 12.0, "cont": 12.0, "stop": 9.0, "kill": 10.0, "pause": 12.0, "elect": 3.0, "reassign": 12.0}
"""The same for ZooKeeper before 2.7, where a leader's change of its ISR reaches the other brokers after 2.5 to 7.5 seconds."""

ZOOKEEPER_WAIT: Final = {"kill": 8.0, "pause": 10.0, "start": 6.0, "cont": 6.0, "reassign": 6.0, "stop": 4.0}
"""The same for other releases with ZooKeeper."""

STILL: Final = 1.5
"""The time in seconds without a change after which a state counts as settled."""

MOST: Final = 12.0
"""The most time in seconds, after the least, that the recorder waits for a settled state."""

QUIET: Final = 1.2
"""The time in seconds after an act whose state is not recorded."""


class Drill:
    """One drill: the topics, the acts, and what was recorded."""

    def __init__(self, cluster: Cluster, driver: Driver, tools: Tools, seed: int) -> None:
        self.cluster = cluster
        self.driver = driver
        self.tools = tools
        self.seed = seed
        self.prefix = f"s{seed}x{int(time.time()) % 100_000}"
        self.topics = [self._topic(topic) for topic in TOPICS]
        self.acts = course(seed, Abilities.of(cluster.release, zookeeper=cluster.zookeeper))
        self.wait = WAIT | (ZOOKEEPER_WAIT if cluster.zookeeper else {}) | (SLOW_WAIT if (2, 2) <= cluster.release < (2, 7) else {})

    def _topic(self, word: str) -> str:
        return self.prefix + word

    def _partition(self, name: str) -> str:
        return self.prefix + name

    def play(self) -> dict[str, Any]:
        """Play the acts, and return the recording."""
        for topic, (assignment, settings) in TOPICS.items():
            told = self.tools.create(self._topic(topic), assignment, settings)
            if "Created" not in told:
                raise RuntimeError(told)
        time.sleep(4)
        initial = self.tools.describe(self.prefix)
        controller = self._state()[0]
        self.driver.ask("warm", *self.topics)
        begun = time.time()
        points: list[dict[str, Any]] = []
        for number, act in enumerate(self.acts):
            act["t"] = time.time() - begun
            act["result"] = self._act(act, number)
            act["done"] = time.time() - begun
            print(f"{act['t']:7.1f} {act['op']} {act.get('broker', '')}", flush=True)
            if act["settle"]:
                self._settle(self.wait[act["op"]])
                moment = time.time() - begun
                point = {"k": number, "t": moment, "end": 0.0, **self._snapshot(filters=number % 3 == 1)}
                point["end"] = time.time() - begun
                points.append(point)
            else:
                time.sleep(QUIET)
        metadata = [] if self.cluster.zookeeper else self._metadata(begun)
        self.driver.ask("fresh")
        for topic in self.topics:
            self.tools.delete_topic(topic)
        return {
            "kafka": self.cluster.version,
            "control_plane": "zookeeper" if self.cluster.zookeeper else "kraft",
            "drill": str(self.seed),
            "settings": _settings(self.cluster),
            "initial": initial,
            **({"controller": controller} if self.cluster.zookeeper else {}),
            "acts": self.acts,
            "points": points,
            "metadata": metadata,
        }

    def _act(self, act: Act, number: int) -> dict[str, Any]:
        cluster, tools = self.cluster, self.tools
        match act["op"]:
            case "kill":
                cluster.kill(act["broker"])
            case "stop":
                return {"exit_s": cluster.stop(act["broker"])}
            case "start":
                return dict(cluster.start(act["broker"]))
            case "pause":
                cluster.pause(act["broker"])
            case "cont":
                cluster.resume(act["broker"])
            case "produce":
                asked = [
                    (name, self.driver.send("produce", *self._partition(name).rsplit("-", 1), records, kind, number))
                    for name, records, kind in act["what"]
                ]
                return {"result": {name: self.driver.wait(request) for name, request in asked}}
            case "config":
                return {"out": tools.config(self._topic(act["topic"]), act["name"], act["value"])}
            case "elect":
                chosen = [act["partition"]] if "partition" in act else list(PARTITIONS)
                return {"out": tools.elect(act["kind"], map(self._partition, chosen), every="partition" not in act)}
            case "reassign":
                return {"out": tools.reassign(self._partition(act["partition"]), act["replicas"])}
            case "delete":
                return {"out": tools.delete(self._partition(act["partition"]), act["offset"])}
            case "controller":
                return {"up_s": cluster.restart_controller()}
        return {}

    def _state(self) -> tuple[int, object]:
        controller, parts = self.cluster.partitions(self.topics)
        znodes = self.cluster.znodes(self.topics)
        return znodes.get("controller", controller), (parts, znodes)

    def _settle(self, least: float) -> None:
        """Wait for the least time, and then until nothing has changed for a while."""
        begun = time.time()
        time.sleep(max(least - STILL, 0))
        known, since = self._state()[1], time.time()
        while time.time() - since < STILL and time.time() - begun < least + MOST:
            time.sleep(0.4)
            now = self._state()[1]
            if now != known:
                known, since = now, time.time()

    def _snapshot(self, *, filters: bool) -> dict[str, Any]:
        cluster = self.cluster
        controller, parts = cluster.partitions(self.topics)
        found = {
            "live": cluster.running(),
            "text": self.tools.describe(self.prefix),
            "filters": {},
            "parts": parts,
            "controller": controller,
        }
        found |= {"offsets": cluster.offsets(parts), "disk": {str(broker): cluster.disk(broker, self.prefix) for broker in BROKERS}}
        found |= cluster.znodes(self.topics)
        if "Error" in found["text"]:
            found["text"] = None
        for word in FILTERS if filters else ():
            text = self.tools.describe(self.prefix, f"--{word}-partitions")
            if "Error" not in text and "is not a recognized option" not in text:
                found["filters"][word] = text
        return found

    def _metadata(self, begun: float) -> list[list[Any]]:
        """Return the controller's records about the drill's topics and about brokers, with their time since the drill began."""
        files = sorted((self.cluster.home / f"d{CONTROLLER}" / "__cluster_metadata-0").glob("*.log"))
        found: list[list[Any]] = []
        names: dict[str, str] = {}
        moment = 0.0
        for line in self.tools.metadata_log(files).splitlines():
            _, _, after = line.partition("CreateTime: ")
            if after:
                moment = round(int(after.split()[0]) / 1000 - begun, 3)
            _, _, payload = line.partition("payload: ")
            if not payload.startswith("{"):
                continue
            record = json.loads(payload)
            kind, data = record["type"], record["data"]
            if kind == "TOPIC_RECORD" and data["name"] in self.topics:
                names[data["topicId"]] = data["name"]
            elif kind in ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD") and data["topicId"] in names:
                kept = {name: value for name, value in data.items() if name not in ("topicId", "partitionId", "directories")}
                found.append([moment, kind, f"{names[data['topicId']]}-{data['partitionId']}", kept])
            elif kind == "CLEAR_ELR_RECORD" and data["topicName"] in ("", *self.topics):
                found.append([moment, kind, data["topicName"], {}])
            elif kind in ("REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD") and moment > -1:
                kept = {name: data.get(name) for name in ("fenced", "inControlledShutdown", "brokerEpoch")}
                found.append([moment, kind, data["brokerId"], kept])
        return found


def _settings(cluster: Cluster) -> dict[str, Any]:
    session = (
        {"zookeeper.session.timeout.ms": SESSION_MS}
        if cluster.zookeeper
        else {"broker.session.timeout.ms": SESSION_MS, "broker.heartbeat.interval.ms": 500}
    )
    producers = {f"producer {name}": int(value) for name, value in _timeouts(cluster.release).items()}
    return {**session, "replica.lag.time.max.ms": SESSION_MS, **producers}


def _timeouts(release: tuple[int, ...]) -> dict[str, str]:
    if release >= (2, 1):
        return {"delivery.timeout.ms": str(DELIVERY_MS), "request.timeout.ms": str(REQUEST_MS)}
    return (
        {"retries": str(RETRIES), "request.timeout.ms": str(REQUEST_MS)}
        if release >= (0, 9)
        else {"retries": str(RETRIES), "timeout.ms": str(REQUEST_MS)}
    )


def producers(cluster: Cluster) -> list[str]:
    """Return the kinds of producers for the driver: acks=all and acks=1, and acks=all with idempotence as `alli`."""
    common = {
        "bootstrap.servers": cluster.servers(),
        "linger.ms": "0",
        "metadata.max.age.ms": str(METADATA_MAX_AGE_MS),
        **_timeouts(cluster.release),
    }
    common |= {"max.block.ms": "60000"} if cluster.release >= (0, 9) else {"metadata.fetch.timeout.ms": "60000"}
    kinds = {"all": {"acks": "all"}, "1": {"acks": "1"}}
    if cluster.release >= (0, 11):
        kinds = {kind: {**own, "enable.idempotence": "false"} for kind, own in kinds.items()}
        kinds["alli"] = {"acks": "all", "enable.idempotence": "true"}
    return ["\t".join([kind, *(word for pair in {**common, **own}.items() for word in pair)]) for kind, own in kinds.items()]


def compile_driver(cluster: Cluster) -> None:
    """Compile the driver against the release's libraries; the Admin API has what it needs since 2.4."""
    names = ("Driver", "Admins") if cluster.release >= (2, 4) else ("Driver",)
    cluster.classes.mkdir(parents=True, exist_ok=True)
    files = [str(HERE / "java" / f"{name}.java") for name in names]
    done = subprocess.run(
        ["javac", "-nowarn", "-d", str(cluster.classes), "-cp", f"{cluster.jars}/*", *files], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Record the courses of some seeds on one release."""
    parser = argparse.ArgumentParser(prog="make record", description="Records failure drills on a real cluster.")
    parser.add_argument("version", help="the Kafka version, such as 2.7.2")
    parser.add_argument("seeds", nargs="+", type=int, help="the seeds of the courses")
    parser.add_argument("--work", type=Path, default=Path("build/recorder"), help="the folder of jars, logs, and the cluster's data")
    parser.add_argument("--into", type=Path, default=HERE.parent / "drills-releases", help="the folder of the recordings")
    options = parser.parse_args(arguments)
    release = tuple(int(number) for number in options.version.split("."))
    cluster = Cluster(options.version, options.work.resolve(), zookeeper=release < (3, 3))
    if not cluster.jars.is_dir():
        fetch_jars(options.version, release, cluster.jars)
    priority()
    shutil.rmtree(cluster.home, ignore_errors=True)
    compile_driver(cluster)
    cluster.configure()
    options.into.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    driver = None
    try:
        cluster.up()
        driver = Driver(cluster.java("Driver", *producers(cluster), quiet=True), cluster.home / "driver.log")
        for seed in options.seeds:
            drill = Drill(cluster, driver, Tools(cluster, driver), seed)
            text = json.dumps(drill.play(), separators=(",", ":"), ensure_ascii=False).replace(drill.prefix, "t-")
            (options.into / f"{options.version}-{seed}.json").write_text(text + "\n", "utf-8")
    finally:
        if driver is not None:
            driver.close()
        cluster.down()
    return 0


if __name__ == "__main__":
    sys.exit(main())
