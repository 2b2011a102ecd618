"""A recorded protocol session: what isrlab asked the brokers of a real cluster, and what they answered, byte for byte.

`FakeBrokers` answers the same requests on loopback. A recording also has what Kafka's own tools printed for the cluster at the same time.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from scenarios.live.network.client_properties import ClientProperties
from scenarios.live.network.connection import Stream, open_socket

FOLDER: Final = Path(__file__).with_name("recordings")
"""The recordings of real clusters, which `make test-live` makes anew."""

LOOPBACK: Final = "127.0.0.1"

Exchange = tuple[str, bytes, bytes]
"""The address of a broker, a request without its correlation ID, and the answer without its own."""


@attrs.frozen
class Recording:
    """A recorded session.

    Attributes:
        version: the version of Kafka.
        bootstrap: the address that was asked first.
        texts: what Kafka's tools printed, by command.
        disk: for each broker, the end offset and leader-epoch entries of each replica on its disk.
        exchanges: the requests and answers in order.
    """

    version: str
    bootstrap: str
    texts: dict[str, str]
    disk: dict[str, dict[str, dict[str, Any]]]
    exchanges: Sequence[Exchange]

    def save(self, folder: Path) -> None:
        """Write the recording to a file."""
        head = {"version": self.version, "bootstrap": self.bootstrap, "texts": self.texts, "disk": self.disk}
        lines = [json.dumps(head)]
        lines += [
            json.dumps([at, *(base64.b64encode(each).decode() for each in (request, answer))]) for at, request, answer in self.exchanges
        ]
        (folder / f"{self.version}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def load(version: str) -> Recording:
    """Read a recording, from the folder that ISRLAB_RECORDINGS names if it has the recording."""
    made = Path(os.environ.get("ISRLAB_RECORDINGS", FOLDER)) / f"{version}.jsonl"
    head, *lines = (made if made.exists() else FOLDER / made.name).read_text("utf-8").splitlines()
    exchanges = [(at, base64.b64decode(request), base64.b64decode(answer)) for at, request, answer in map(json.loads, lines)]
    return Recording(**json.loads(head), exchanges=exchanges)


def without_id(frame: bytes) -> bytes:
    """Return a request without its length and its correlation ID."""
    return frame[4:8] + frame[12:]


class Recorder:
    """Opens connections that write down what passes through them."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def connect(self, host: str, port: int, properties: ClientProperties) -> Stream:
        """Open a connection (`scenarios.live.network.cluster_client.Open`)."""
        return _RecordedStream(open_socket(host, port, properties), f"{host}:{port}", self.exchanges)


class _RecordedStream:
    def __init__(self, stream: Stream, address: str, exchanges: list[Exchange]) -> None:
        self._stream, self._address, self._exchanges = stream, address, exchanges
        self._request, self._answer = b"", b""

    def settimeout(self, seconds: float | None) -> None:
        self._stream.settimeout(seconds)

    def sendall(self, data: bytes) -> None:
        self._request, self._answer = data, b""
        self._stream.sendall(data)

    def recv(self, size: int) -> bytes:
        data = self._stream.recv(size)
        self._answer += data
        if len(self._answer) >= 4 and len(self._answer) == 4 + int.from_bytes(self._answer[:4], "big"):
            self._exchanges.append((self._address, without_id(self._request), self._answer[8:]))
        return data

    def close(self) -> None:
        self._stream.close()


class FakeBrokers:
    """Servers on loopback that answer as the recorded brokers did. A repeated request gets the recorded answers in their order, the last one again
    and again. The ports of the recorded brokers in the answers are replaced by those of the servers.
    """

    def __init__(self, recording: Recording) -> None:
        self.asked: list[tuple[str, int]] = []
        self._answers: dict[tuple[str, bytes], list[bytes]] = {}
        for address, request, answer in recording.exchanges:
            self._answers.setdefault((address, request), []).append(answer)
        self._listeners = {
            address: socket.create_server((LOOPBACK, 0)) for address in dict.fromkeys(at for at, _, _ in recording.exchanges)
        }
        self.ports = {int(address.rpartition(":")[2]): int(each.getsockname()[1]) for address, each in self._listeners.items()}
        self.bootstrap = f"{LOOPBACK}:{self._listeners[recording.bootstrap].getsockname()[1]}"
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, args=each, daemon=True) for each in self._listeners.items()]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> FakeBrokers:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            sockets: Iterable[socket.socket] = [*self._listeners.values(), *self._open]
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in list(self._threads):
            thread.join(60)

    def _accept(self, address: str, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with self._lock:
                    self._open.append(connection)
                thread = threading.Thread(target=self._serve, args=(address, connection), daemon=True)
                thread.start()
                with self._lock:
                    self._threads.append(thread)

    def _serve(self, address: str, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as incoming:
            while head := incoming.read(4):
                frame = head + incoming.read(int.from_bytes(head, "big"))
                key = (address, without_id(frame))
                with self._lock:
                    answers = self._answers.get(key)
                    self.asked.append((address, int.from_bytes(frame[4:6], "big")))
                if not answers:
                    return  # a request that was never recorded: the client sees a closed connection
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                for recorded, own in self.ports.items():
                    answer = answer.replace(LOOPBACK.encode() + recorded.to_bytes(4, "big"), LOOPBACK.encode() + own.to_bytes(4, "big"))
                payload = frame[8:12] + answer
                connection.sendall(len(payload).to_bytes(4, "big") + payload)
