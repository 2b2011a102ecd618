"""What is not a cluster, or not a good one: one clear message, or a partial picture that says so, within bounded time and memory."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest

from scenarios.io.standard_streams import print_error
from scenarios.live.imported import import_live
from scenarios.live.network.client_properties import ClientProperties, Secret
from scenarios.live.network.cluster_client import MOST_SECONDS, ClusterClient, addresses
from scenarios.live.network.connection import MOST_ANSWER_BYTES, REQUEST_SECONDS, Connection
from scenarios.live.network.errors import BrokerError, LiveError, Refused
from scenarios.live.network.messages import encode
from scenarios.live.network.pacing import RequestRate
from scenarios.live.network.reading_apis import Api
from scenarios.live.read_cluster import read_cluster
from scenarios.releases import release_named
from tests.scenarios.live.recording import Exchange, FakeBrokers, Recording, load
from tui.cli import main

HIDDEN = "hunter2"


class FakeStream:
    """A connection that answers with given bytes, and then with silence, or with its end. Its clock advances only while it is waited for."""

    def __init__(self, *chunks: bytes, silent: bool = False) -> None:
        self.chunks, self.silent, self.now, self.sent, self.wait = list(chunks), silent, 0.0, b"", 0.0

    def settimeout(self, seconds: float | None) -> None:
        self.wait = seconds or 0.0

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def recv(self, size: int) -> bytes:
        if not self.chunks and self.silent:
            self.now += self.wait
            raise TimeoutError
        if not self.chunks:
            return b""
        chunk = self.chunks.pop(0)
        if len(chunk) > size:
            self.chunks.insert(0, chunk[size:])
        return chunk[:size]

    def close(self) -> None:
        self.chunks = []


def connection(stream: FakeStream, properties: ClientProperties | None = None) -> Connection:
    return Connection(stream, properties or ClientProperties(), RequestRate(1e6), lambda: stream.now)


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (FakeStream(b"HTTP/1.1 400 Bad Request\r\n"), "an HTTP server answers there, not a broker"),
        (FakeStream(b"\x15\x03\x03\0\x02\x02F"), "the port expects TLS; set security.protocol=SSL or SASL_SSL"),
        (FakeStream(b"SSH-2.0-x\r\n"), "an SSH server answers there"),
        (FakeStream(), "closed the connection instead of answering ApiVersions; the port perhaps expects TLS or SASL"),
        (FakeStream(b"\0\0\0"), "in the middle of the answer to ApiVersions"),
        (FakeStream(silent=True), "no complete answer to ApiVersions within 15 s"),
        (FakeStream(b"\0\0\0\x40\0\0\0\1half", silent=True), "within 15 s; 8 of 64 bytes arrived"),
        (FakeStream(b"\x7f\xff\xff\xff"), "says that it has 2,147,483,647 bytes; at most 33,554,432 are read"),
        (FakeStream(b"\xff\xff\xff\xff"), "says that it has -1 bytes"),
        (FakeStream(b"\0\0\0\4\0\0\0\7"), "belongs to another request"),
        (FakeStream(b"\0\0\0\4\0\0\0\1"), "the answer to ApiVersions is damaged"),
        (FakeStream(b"\0\0\0\x0a\0\0\0\1\0\0\x7f\xff\xff\xff"), "the answer to ApiVersions is damaged"),
    ],
)
def test_answers_that_are_none(stream: FakeStream, message: str) -> None:
    with pytest.raises(BrokerError) as wrong:
        connection(stream).ask(Api.API_VERSIONS, 0, {})
    assert message in str(wrong.value)
    assert stream.now <= REQUEST_SECONDS
    assert MOST_ANSWER_BYTES == 33_554_432


def test_a_broker_that_answers_byte_by_byte_does_not_get_more_time() -> None:
    stream = FakeStream(b"\0\0\1\0", *[b"x"] * 30)
    receive = stream.recv

    def slowly(size: int) -> bytes:
        stream.now += 1
        return receive(size)

    stream.recv = slowly  # type: ignore[method-assign]
    with pytest.raises(BrokerError, match="within 15 s"):
        connection(stream).ask(Api.API_VERSIONS, 0, {})
    assert stream.now <= REQUEST_SECONDS + 1


def answer(correlation_id: int, body: bytes) -> bytes:
    payload = correlation_id.to_bytes(4, "big") + body
    return len(payload).to_bytes(4, "big") + payload


@pytest.mark.parametrize(
    ("mechanism", "answers", "message"),
    [
        ("PLAIN", [b"\0\x21\0\0\0\1\0\x0dSCRAM-SHA-512"], "does not offer PLAIN; it offers SCRAM-SHA-512"),
        ("PLAIN", [b"\0\0\0\0\0\0", b"\0\x3a\0\4nope\0\0\0\0"], "refused (SASL_AUTHENTICATION_FAILED); check the user and the password"),
        ("SCRAM-SHA-256", [b"\0\0\0\0\0\0", b"\0\0\xff\xff\0\0\0\3r=x"], "the answer to the login with SCRAM-SHA-256 is damaged"),
        ("OAUTHBEARER", [b"\0\0\0\0\0\0", b"\0\0\xff\xff\0\0\0\2{}"], "the broker refuses the token"),
    ],
)
def test_logins_that_fail_show_no_secret(mechanism: str, answers: list[bytes], message: str) -> None:
    stream = FakeStream(*[answer(number, body) for number, body in enumerate(answers, 1)])
    properties = ClientProperties("SASL_PLAINTEXT", mechanism, "alice", Secret(HIDDEN))
    with pytest.raises((BrokerError, Refused)) as wrong:
        connection(stream, properties).authenticate()
    assert message in str(wrong.value)
    trace = wrong.traceback
    assert HIDDEN not in str(wrong.value) + repr(wrong.value) + "".join(map(str, trace))
    assert wrong.value.__cause__ is None


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server on loopback that handles connections one after the other."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        try:
            while True:
                each, _ = listener.accept()
                with each:
                    serve(each)
        except OSError:
            return

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(60)


def test_the_command_line_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "client.properties"
    config.write_text(
        f'security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=a.PlainLoginModule required username="u" password="{HIDDEN}";'
    )

    def http(each: socket.socket) -> None:
        each.recv(1000)
        each.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with server(http) as address:
        assert main(["describe", "--bootstrap-server", address]) == 2
        assert f"{address}: an HTTP server answers there, not a broker" in capsys.readouterr().err
        assert main(["describe", "--bootstrap-server", address, "--command-config", str(config)]) == 2
        told = capsys.readouterr().err
        assert f"{address}: TLS is not possible" in told
        assert "security.protocol" in told
        assert HIDDEN not in told
    closed = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{closed.getsockname()[1]}"
    closed.close()
    assert main(["import", "--bootstrap-server", f"{address},{address}", "-o", str(tmp_path / "mine.yaml")]) == 2
    assert capsys.readouterr().err.count("nothing listens there") == 2
    assert not (tmp_path / "mine.yaml").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["describe", "x.jsonl", "--bootstrap-server", "h:1"], "'x.jsonl' names another source"),
        (["describe", "x.jsonl", "--command-config", "c"], "--command-config: needs --bootstrap-server"),
        (["describe"], "name an event log or a scenario, or a running cluster"),
        (["import"], "name the output of kafka-topics --describe, an event log"),
        (["groups", "--list"], "name an event log or a scenario, or a running cluster"),
        (["transactions", "list"], "name an event log or a scenario"),
        (["ask"], "name the cluster"),
        (["import", "--bootstrap-server", "h:1", "--groups", "g.txt"], "--bootstrap-server reads the groups itself"),
        (["describe", "--bootstrap-server", "localhost"], "'localhost' is not an address; write HOST:PORT"),
        (["describe", "--bootstrap-server", "h:70000"], "is not an address"),
    ],
)
def test_options_that_contradict_each_other(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_addresses() -> None:
    assert addresses("a:1, [::1]:2,SASL_SSL://b.example:9093") == [("a", 1), ("::1", 2), ("b.example", 9093)]


# --- partial pictures ------------------------------------------------------------------------------------------------


def changed(recording: Recording, change: Callable[[Exchange], Exchange]) -> Recording:
    return attrs.evolve(recording, exchanges=[change(each) for each in recording.exchanges])


def key_of(exchange: Exchange) -> int:
    return int.from_bytes(exchange[1][:2], "big")


def test_what_authorization_refuses_is_unknown_and_not_guessed() -> None:
    """The answers have the error code CLUSTER_AUTHORIZATION_FAILED where such an answer has one."""
    refused = {Api.LIST_GROUPS: 4, Api.LIST_TRANSACTIONS: 5, Api.DESCRIBE_QUORUM: 1, Api.DESCRIBE_CLUSTER: 5}

    def refuse(each: Exchange) -> Exchange:
        at = refused.get(Api(key_of(each)))
        return each if at is None else (each[0], each[1], each[2][:at] + b"\0\x1f" + each[2][at + 2 :])

    recording = changed(load("4.3.1"), refuse)
    with FakeBrokers(recording) as brokers, ClusterClient(brokers.bootstrap, ClientProperties()) as client:
        live = read_cluster(client)
    told = "\n".join(live.unknown)
    for what, api in (("groups", "ListGroups"), ("transactions", "ListTransactions"), ("fenced brokers", "DescribeCluster")):
        assert what in told
        assert api in told
    assert "CLUSTER_AUTHORIZATION_FAILED" in told
    assert live.groups == ()
    assert live.voters is None
    assert import_live(live, release_named("4.3")).scenario.spec.topics


def test_a_broker_that_is_gone_costs_its_facts_only() -> None:
    recording = load("4.3.1")
    first = recording.bootstrap
    recording = changed(
        recording, lambda each: each if each[0] == first else (each[0], b"", b"")
    )  # it accepts connections, and closes them
    with FakeBrokers(recording) as brokers, ClusterClient(brokers.bootstrap, ClientProperties(), RequestRate(1e6)) as client:
        live = read_cluster(client)
    (note,) = [note for note in live.unknown if "ListOffsets" in note]
    assert "log end offsets" in note
    assert " of broker 2 (" in note
    assert "the broker closed the connection instead of answering ApiVersions" in note
    assert live.brokers[1].settings is not None
    assert live.brokers[2].settings is None
    imported = import_live(live, release_named("4.3"))
    assert any(note.startswith("unknown: the log end offset of replicas whose brokers do not answer") for note in imported.notes)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_answers_never_crash_and_show_no_control_characters(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Answers are cut, lengthened, or changed at random; names get escape sequences."""
    chance = random.Random(seed)
    recording = load(chance.choice(["4.3.1", "2.8.2"]))
    target = chance.randrange(len(recording.exchanges))

    def damage(data: bytes) -> bytes:
        match chance.randrange(4):
            case 0:
                return data[: chance.randrange(len(data) + 1)]
            case 1:
                at = chance.randrange(len(data))
                return (
                    data[:at]
                    + chance.choice([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\x0f", b"\x80\x80"])
                    + data[at + 4 :]
                )
            case 2:
                return data.replace(b"orders", b"\x1b]52;\x07").replace(b"billing", b"\x1b[2Jxyz")
            case _:
                return bytes(chance.randrange(256) if chance.random() < 0.02 else byte for byte in data)

    exchanges = [(at, request, damage(data) if n == target else data) for n, (at, request, data) in enumerate(recording.exchanges)]
    with FakeBrokers(attrs.evolve(recording, exchanges=exchanges)) as brokers:
        try:
            with ClusterClient(brokers.bootstrap, ClientProperties(), RequestRate(1e6)) as client:
                live = read_cluster(client)
            import_live(live, release_named("4.3"))
        except LiveError as wrong:
            print_error(str(wrong))
    assert "\x1b" not in capsys.readouterr().err


def test_reading_has_a_time_limit() -> None:
    recording, now = load("4.3.1"), [0.0]
    with (
        FakeBrokers(recording) as brokers,
        ClusterClient(brokers.bootstrap, ClientProperties(), RequestRate(1e6), clock=lambda: now[0]) as client,
    ):
        now[0] = MOST_SECONDS + 1
        with pytest.raises(LiveError, match="reading the cluster took longer than 120 s"):
            read_cluster(client)


def test_requests_are_encoded_with_the_name_of_isrlab() -> None:
    frame = encode(Api.METADATA, 1, 7, {"topics": None, "allow_auto_topic_creation": False})
    assert frame == b"\0\0\0\x14\0\3\0\1\0\0\0\7\0\6isrlab\xff\xff\xff\xff"
