"""A connection to one broker: TLS, SASL, and one request at a time.

`Connection._send` is the only place in isrlab that sends bytes to a cluster. There, requests that are not on the list of reading requests are refused,
and the rate is limited. An answer can take a limited time and have a limited size.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from scenarios.live.network.client_properties import ClientProperties
from scenarios.live.network.errors import BrokerError, LiveError, Refused
from scenarios.live.network.messages import decode, encode, error_name, scram_client
from scenarios.live.network.pacing import RequestRate
from scenarios.live.network.reading_apis import Api, check

REQUEST_SECONDS: Final = 15.0
"""The most time that a connection, or an answer, can take."""

MOST_ANSWER_BYTES: Final = 32 * 2**20
"""The largest answer. The metadata of 200,000 partitions with three replicas has about 10 MB. Decoded, an answer can need thirty times its size."""

_CHUNK: Final = 65_536

_TLS_ALERT: Final = b"\x15\x03"


class Stream(Protocol):
    """The part of a socket that a connection uses."""

    def settimeout(self, seconds: float | None, /) -> None: ...
    def sendall(self, data: bytes, /) -> None: ...
    def recv(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


def open_socket(host: str, port: int, properties: ClientProperties) -> Stream:
    """Connect to a broker, with TLS if the properties say so.

    Raises:
        BrokerError: nothing listens at the address, or TLS is not possible.
    """
    try:
        plain = socket.create_connection((host, port), REQUEST_SECONDS)
    except TimeoutError:
        raise BrokerError(f"no connection within {REQUEST_SECONDS:.0f} s", silent=True) from None
    except socket.gaierror:
        raise BrokerError("the name of the host is unknown") from None
    except ConnectionRefusedError:
        raise BrokerError("nothing listens there") from None
    except (OSError, UnicodeError) as wrong:
        raise BrokerError(f"no connection ({getattr(wrong, 'strerror', None) or 'the address is not valid'})") from None
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not properties.encrypted:
        return plain
    try:
        return properties.tls().wrap_socket(plain, server_hostname=host)
    except ssl.SSLCertVerificationError as wrong:
        plain.close()
        raise BrokerError(
            f"its certificate is not trusted ({wrong.verify_message}); check ssl.truststore.location and the host name"
        ) from None
    except (ssl.SSLError, OSError) as wrong:
        plain.close()
        why = f"no answer within {REQUEST_SECONDS:.0f} s" if isinstance(wrong, TimeoutError) else getattr(wrong, "reason", None) or "closed"
        raise BrokerError(f"TLS is not possible ({why}); the port is perhaps not one for TLS: see security.protocol") from None
    except LiveError:
        plain.close()
        raise


class Connection:
    """A connection to a broker.

    Args:
        stream: the socket, connected.
        properties: how to authenticate.
        rate: the limit on the rate of requests of all connections.
        clock: the clock in seconds.
    """

    def __init__(
        self, stream: Stream, properties: ClientProperties, rate: RequestRate, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._properties = properties
        self._rate = rate
        self._clock = clock
        self._correlation_id = 0

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._stream.close()

    def ask(self, api: Api, version: int, fields: Mapping[str, Any]) -> Any:
        """Send a request, and return its answer.

        Raises:
            BrokerError: the broker does not answer, or not like a broker.
        """
        self._correlation_id += 1
        self._send(encode(api, version, self._correlation_id, fields))
        payload = self._receive(api)
        if int.from_bytes(payload[:4], "big") != self._correlation_id:
            raise BrokerError(f"the answer to {api.title} belongs to another request")
        return decode(api, version, payload)

    def _send(self, frame: bytes) -> None:
        check(frame)
        self._rate.wait()
        try:
            self._stream.settimeout(REQUEST_SECONDS)
            self._stream.sendall(frame)
        except TimeoutError:
            raise BrokerError(f"it takes no request within {REQUEST_SECONDS:.0f} s", silent=True) from None
        except OSError:
            raise BrokerError("the broker closed the connection") from None

    def _receive(self, api: Api) -> bytes:
        deadline = self._clock() + REQUEST_SECONDS
        head = self._exactly(4, deadline, api)
        size = int.from_bytes(head, "big", signed=True)
        if not 4 <= size <= MOST_ANSWER_BYTES:
            raise BrokerError(
                _not_kafka(head) or f"the answer to {api.title} says that it has {size:,} bytes; at most {MOST_ANSWER_BYTES:,} are read"
            )
        return self._exactly(size, deadline, api)

    def _exactly(self, size: int, deadline: float, api: Api) -> bytes:
        data = bytearray()
        while len(data) < size:
            left = deadline - self._clock()
            if left <= 0:
                raise self._late(data, size, api)
            try:
                self._stream.settimeout(left)
                chunk = self._stream.recv(min(_CHUNK, size - len(data)))
            except TimeoutError:
                raise self._late(data, size, api) from None
            except OSError:
                chunk = b""
            if not chunk:
                where = f"in the middle of the answer to {api.title}" if data else f"instead of answering {api.title}"
                raise BrokerError(f"the broker closed the connection {where}{self._why_closed(api)}")
            data += chunk
        return bytes(data)

    def _late(self, data: bytes | bytearray, size: int, api: Api) -> BrokerError:
        missing = f"; {len(data):,} of {size:,} bytes arrived" if data else ""
        return BrokerError(f"no complete answer to {api.title} within {REQUEST_SECONDS:.0f} s{missing}", silent=True)

    def _why_closed(self, api: Api) -> str:
        if api in (Api.API_VERSIONS, Api.SASL_HANDSHAKE) and not self._properties.encrypted:
            return "; the port perhaps expects TLS or SASL: give a client properties file with --command-config"
        return ""

    # --- SASL --------------------------------------------------------------------------------------------------------

    def authenticate(self) -> None:
        """Log in with SASL, if the properties say so.

        Raises:
            BrokerError: the broker does not answer, or not like a broker.
            Refused: the broker refuses the login.
        """
        if not self._properties.authenticated:
            return
        mechanism = self._properties.mechanism
        answer = self.ask(Api.SASL_HANDSHAKE, 1, {"mechanism": mechanism})
        if answer.error_code:
            offered = ", ".join(str(name)[:40] for name in (answer.mechanisms or [])[:8])
            raise Refused(f"the broker does not offer {mechanism}; it offers {offered or 'no SASL on this port'}")
        if mechanism == "PLAIN":
            user, password = self._properties.user, self._properties.password.reveal()
            self._login(f"\0{user}\0{password}".encode())
        elif mechanism == "OAUTHBEARER":
            told = self._login(f"n,,\1auth=Bearer {self._properties.password.reveal()}\1\1".encode())
            if told:
                raise Refused("the broker refuses the token")
        else:
            self._scram(mechanism)

    def _scram(self, mechanism: str) -> None:
        client = scram_client(mechanism, self._properties.user, self._properties.password.reveal())
        first = self._login(client.first_message())
        try:
            client.process_server_first_message(first)
            final = client.final_message()
        except Exception:  # What the broker sent is no SCRAM message; the error could quote the exchange.
            raise BrokerError(f"the answer to the login with {mechanism} is damaged") from None
        proof = self._login(final)
        try:
            client.process_server_final_message(proof)
        except Exception:
            raise BrokerError(f"the broker could not prove that it knows the password ({mechanism})") from None

    def _login(self, data: bytes) -> bytes:
        answer = self.ask(Api.SASL_AUTHENTICATE, 0, {"auth_bytes": data})
        if answer.error_code:
            raise Refused(
                f"the login is refused ({error_name(answer.error_code)}); check the user and the password in the client properties file"
            )
        return bytes(answer.auth_bytes or b"")


def _not_kafka(head: bytes) -> str:
    """Return what answers at a port if it is not a broker, judging by the first bytes."""
    if head == b"HTTP":
        return "an HTTP server answers there, not a broker"
    if head[:2] == _TLS_ALERT:
        return "the port expects TLS; set security.protocol=SSL or SASL_SSL in the client properties file (--command-config)"
    if head[:3] == b"SSH":
        return "an SSH server answers there, not a broker"
    return ""
