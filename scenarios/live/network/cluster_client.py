"""Connections to the brokers of a cluster: finds one that answers, and asks each broker for what only it knows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from scenarios.io.escaping import escape_value
from scenarios.live.network.client_properties import ClientProperties
from scenarios.live.network.connection import Connection, Stream, open_socket
from scenarios.live.network.errors import BrokerError, LiveError, Refused
from scenarios.live.network.messages import CLIENT_ID, error_name, versions_of
from scenarios.live.network.pacing import RequestRate
from scenarios.live.network.reading_apis import Api

MOST_SECONDS: Final = 120.0
"""The most time that reading a cluster takes. What has not been read by then is listed as unknown."""

MOST_LOSSES: Final = 3
"""The number of connections that a broker can close before it is not asked again."""

_ADDRESS: Final = re.compile(r"(?:[A-Z_]+://)?(?:\[([0-9A-Fa-f:.%\w]{2,80})\]|([\w.-]{1,255})):(\d{1,5})")
_UNSUPPORTED_VERSION: Final = 35
_MOST_SERVERS: Final = 100

Open = Callable[[str, int, ClientProperties], Stream]


def addresses(text: str) -> list[tuple[str, int]]:
    """Return the addresses in the value of `--bootstrap-server`.

    Raises:
        LiveError: the text is not a list of addresses.
    """
    found = []
    for each in text.split(",")[:_MOST_SERVERS]:
        matched = _ADDRESS.fullmatch(each.strip())
        if matched is None or not 0 < int(matched[3]) < 65_536:
            raise LiveError(f"--bootstrap-server: '{each.strip()[:80]}' is not an address; write HOST:PORT, for example localhost:9092")
        found.append((matched[1] or matched[2], int(matched[3])))
    return found


class _Link:
    """A connection to a broker, and what the broker says that it can do."""

    def __init__(self, connection: Connection, answer: Any) -> None:
        self.connection = connection
        self.lost = False
        self.versions = {int(each.api_key): (int(each.min_version), int(each.max_version)) for each in answer.api_keys or ()}
        self.supported = {str(each.name): (int(each.min_version), int(each.max_version)) for each in answer.supported_features or ()}
        self.finalized = {str(each.name): int(each.max_version_level) for each in answer.finalized_features or ()}

    def version(self, api: Api) -> int:
        """Return the newest version of an API that both sides have.

        Raises:
            Refused: there is no such version.
        """
        least, most = versions_of(api)
        has = self.versions.get(api)
        if has is None or min(most, has[1]) < max(least, has[0]):
            raise Refused("the release does not have this API" if has is None else "isrlab has no common version")
        return min(most, has[1])


class ClusterClient:
    """Asks the brokers of a cluster.

    Args:
        servers: the value of `--bootstrap-server`.
        properties: how to connect.
        rate: the limit on the rate of requests.
        connect: the function that opens a connection.
        clock: the clock in seconds.
    """

    def __init__(
        self,
        servers: str,
        properties: ClientProperties,
        rate: RequestRate | None = None,
        connect: Open = open_socket,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.servers = servers
        self.rate = rate or RequestRate()
        self.homes: dict[int, tuple[str, int]] = {}
        self._properties = properties
        self._connect = connect
        self._clock = clock
        self._until = clock() + MOST_SECONDS
        self._links: dict[int, _Link | BrokerError | Refused] = {}
        self._losses: dict[int, int] = {}
        self._first = self._bootstrap(addresses(servers))

    def __enter__(self) -> ClusterClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for link in (self._first, *self._links.values()):
            if isinstance(link, _Link):
                link.connection.close()

    @property
    def versions(self) -> Mapping[int, tuple[int, int]]:
        """The versions of the APIs of the broker that was asked first."""
        return self._first.versions

    @property
    def supported_features(self) -> Mapping[str, tuple[int, int]]:
        """The feature levels that the broker supports that was asked first."""
        return self._first.supported

    @property
    def finalized_features(self) -> Mapping[str, int]:
        """The feature levels of the cluster."""
        return self._first.finalized

    def _bootstrap(self, servers: list[tuple[str, int]]) -> _Link:
        problems = []
        for host, port in servers:
            try:
                return self._link(host, port)
            except (BrokerError, Refused) as wrong:
                problems.append(f"{host}:{port}: {wrong}")
        rest = f" (and so on for {len(problems) - 3} more)" if len(problems) > 3 else ""
        raise LiveError("--bootstrap-server: " + escape_value("; ".join(problems[:3])) + rest)

    def _link(self, host: str, port: int) -> _Link:
        connection = Connection(self._connect(host, port, self._properties), self._properties, self.rate, self._clock)
        try:
            connection.authenticate()
            return _Link(connection, self._api_versions(connection))
        except BaseException:
            connection.close()
            raise

    @staticmethod
    def _api_versions(connection: Connection) -> Any:
        """Return what a broker says that it can do. Before 2.4, a broker answers the newer request with the oldest answer and an error."""
        answer = connection.ask(Api.API_VERSIONS, 3, {"client_software_name": CLIENT_ID, "client_software_version": "0"})
        if answer.error_code == _UNSUPPORTED_VERSION:
            answer = connection.ask(Api.API_VERSIONS, 0, {})
        if answer.error_code:
            raise Refused(f"ApiVersions: {error_name(answer.error_code)}")
        return answer

    def renew(self) -> None:
        """Start the limit on the time of a reading anew."""
        self._until = self._clock() + MOST_SECONDS

    def version(self, api: Api) -> int | None:
        """Return the version of an API that is used with the broker that was asked first; None if there is none."""
        try:
            return self._first.version(api)
        except Refused:
            return None

    def ask(self, api: Api, fields: Mapping[str, Any], broker: int | None = None, version: int | None = None) -> Any:
        """Ask a broker; without a broker, ask the one that was asked first.

        Args:
            api: the API.
            fields: the fields of the request; those that its version does not have are left out.
            broker: the broker.
            version: the newest version to use.

        Raises:
            BrokerError: the broker does not answer, or not like a broker.
            Refused: the broker does not have the API, or the answer has an error code.
        """
        if self._clock() > self._until:
            raise BrokerError(f"reading the cluster took longer than {MOST_SECONDS:.0f} s")
        link = self._first if broker is None else self._link_to(broker)
        if link.lost:
            link = self._first = self._bootstrap(addresses(self.servers))
        used = link.version(api) if version is None else min(version, link.version(api))
        try:
            answer = link.connection.ask(api, used, fields)
        except BrokerError as wrong:
            self._lose(link, broker, wrong)
            raise
        code = getattr(answer, "error_code", 0)
        if code:
            raise Refused(error_name(code))
        return answer

    def _link_to(self, broker: int) -> _Link:
        found = self._links.get(broker)
        if found is None:
            try:
                found = self._link(*self.homes[broker])
            except (BrokerError, Refused) as wrong:
                found = wrong
            self._links[broker] = found
        if isinstance(found, _Link):
            return found
        raise found

    def _lose(self, link: _Link, broker: int | None, wrong: BrokerError) -> None:
        """Close a connection on which an answer is missing. A broker that does not answer in time, or often closes connections, is not asked
        again, so that it costs little time.
        """
        link.connection.close()
        link.lost = True
        if broker is None:
            return
        self._losses[broker] = self._losses.get(broker, 0) + 1
        if wrong.silent or self._losses[broker] >= MOST_LOSSES:
            self._links[broker] = wrong
        else:
            del self._links[broker]
