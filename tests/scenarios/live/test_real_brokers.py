"""Real brokers: `make test-live` starts them, records them anew, and tests the new recordings as those in the repository; TLS and SASL once.

It needs Java 17, Maven or KAFKA_HOME, and about 1.5 GB of memory. `ISRLAB_LIVE=keep make test-live` also keeps the recordings in the repository.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.live.network.client_properties import read_client_properties
from scenarios.live.network.errors import LiveError
from tests.fidelity.recorder.cluster import PORT
from tests.scenarios.live.real_cluster import PASSWORD, SECURE, USER, RealCluster, make, read, record_watch, start
from tests.scenarios.live.recording import FOLDER
from tests.scenarios.live.test_recorded_clusters import VERSIONS
from tui.cli import main

LIVE = os.environ.get("ISRLAB_LIVE", "")

pytestmark = [pytest.mark.live, pytest.mark.skipif(not LIVE, reason="starts real brokers; run make test-live")]

WORK = Path("build/live").resolve()
"""The folder of jars, logs, and the cluster's data."""


def passes(tests: str, folder: Path, *options: str) -> bool:
    """Return whether the tests of recordings pass with those in a folder. A session of pytest cannot run within another one."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *options, str(Path(__file__).with_name(tests))]
    return subprocess.run(command, env={**os.environ, "ISRLAB_RECORDINGS": str(folder)}).returncode == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_release_is_recorded_and_read(version: str, tmp_path: Path) -> None:
    folder = FOLDER if LIVE == "keep" else tmp_path
    make(version, WORK).save(folder)
    assert passes("test_recorded_clusters.py", folder, "-k", version)


def test_a_broker_is_killed_and_restarted_while_the_cluster_is_watched(tmp_path: Path) -> None:
    folder = FOLDER if LIVE == "keep" else tmp_path
    record_watch("4.3.1", WORK).save(folder)
    assert passes("test_watch.py", folder)


@pytest.fixture(scope="module")
def secure() -> Iterator[RealCluster]:
    cluster, driver, tools = start("4.3.1", WORK, secure=True)
    try:
        scram = f"SCRAM-SHA-512=[password={PASSWORD}]"
        words = (
            "--bootstrap-server",
            f"127.0.0.1:{PORT + 1}",
            "--alter",
            "--add-config",
            scram,
            "--entity-type",
            "users",
            "--entity-name",
            USER,
        )
        cluster.tool("kafka.admin.ConfigCommand", *words)
        tools.create("orders", [[1, 2], [2, 3]], {})
        yield cluster
    finally:
        driver.close()
        cluster.down()


def properties(folder: Path, cluster: RealCluster, password: str, mechanism: str = "SCRAM-SHA-512", user: str = USER) -> Path:
    file = folder / "client.properties"
    quoted = password.replace("\\", "\\\\").replace('"', '\\\\"')
    module = "scram.ScramLoginModule" if mechanism.startswith("SCRAM") else "plain.PlainLoginModule"
    file.write_text(
        f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\nssl.truststore.location={cluster.home}/broker.pem\nssl.truststore.type=PEM\n"
        f'sasl.jaas.config=org.apache.kafka.common.security.{module} required username="{user}" password="{quoted}";\n'
    )
    return file


def test_tls_and_sasl(secure: RealCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, tls = f"127.0.0.1:{PORT + 1}", f"127.0.0.1:{PORT + SECURE + 1}"
    known, _ = read(plain)
    for file in (properties(tmp_path, secure, PASSWORD), properties(tmp_path, secure, "bob-secret", "PLAIN", "bob")):
        found, recorder = read(tls, read_client_properties(str(file)))
        assert found.topics == known.topics
        assert {broker.port for broker in found.brokers.values()} == {PORT + SECURE + broker for broker in (1, 2, 3)}
        assert recorder.exchanges
    assert main(["describe", "--bootstrap-server", tls, "--command-config", str(properties(tmp_path, secure, PASSWORD))]) == 0
    told = capsys.readouterr()
    assert PASSWORD not in told.out + told.err
    wrong = properties(tmp_path, secure, "not-the-password")
    with pytest.raises(LiveError, match=r"the login is refused \(SASL_AUTHENTICATION_FAILED\)"):
        read(tls, read_client_properties(str(wrong)))
    with pytest.raises(LiveError, match="TLS is not possible"):
        read(plain, read_client_properties(str(wrong)))
    with pytest.raises(LiveError, match=r"the port expects TLS|closed the connection"):
        read(tls)
