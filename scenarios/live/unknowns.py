"""Collects what could not be read, so that it can be said instead of guessed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from scenarios.live.network.cluster_client import ClusterClient
from scenarios.live.network.errors import BrokerError, Refused
from scenarios.live.network.messages import error_name
from scenarios.live.network.reading_apis import Api

_NAMED: Final = 5
"""The most names that a note lists."""


class Unknowns:
    """What could not be read, by kind, API, and reason."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self._found: dict[tuple[str, str, str], dict[str, None]] = {}  # what, API, and reason; then where

    def add(self, what: str, api: Api, why: str, where: str = "") -> None:
        """Note that something could not be read.

        Args:
            what: the kind of fact.
            api: the API that was asked.
            why: the reason.
            where: the broker, topic, or group whose fact is unknown.
        """
        self._found.setdefault((what, api.title, why), {}).setdefault(where)

    def code(self, what: str, api: Api, code: int, where: str = "") -> bool:
        """Return whether part of an answer has an error code, and note it if so."""
        if code:
            self.add(what, api, error_name(code), where)
        return bool(code)

    def ask(self, what: str, api: Api, fields: Mapping[str, Any], broker: int | None = None, where: str = "") -> Any:
        """Return the answer to a request; if the broker refuses or does not answer, note what is unknown therefore, and return None.

        Args:
            what: the kind of fact.
            api, fields, broker: see `ClusterClient.ask`.
            where: the topic or group whose fact is unknown; by default, the broker.
        """
        try:
            return self._client.ask(api, fields, broker)
        except (BrokerError, Refused) as wrong:
            self.add(what, api, str(wrong), where or ("" if broker is None else f"broker {broker}"))
            return None

    def notes(self) -> tuple[str, ...]:
        """Return a sentence for each reason, with all that is unknown for it."""
        merged: dict[tuple[str, tuple[str, ...]], list[tuple[str, str]]] = {}
        for (what, api, why), where in self._found.items():
            merged.setdefault((why, tuple(where)), []).append((what, api))
        return tuple(
            f"unknown: {_list(what for what, _ in facts)}{_some(where)} ({_list(api for _, api in facts)}: {why})"
            for (why, where), facts in merged.items()
        )


def _list(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def _some(names: Iterable[str]) -> str:
    named = [name for name in names if name]
    if not named:
        return ""
    shown = [name if len(name) <= 80 else f"{name[:80]}…" for name in named[:_NAMED]]
    return " of " + ", ".join(shown) + (f" and {len(named) - len(shown):,} more" if len(named) > len(shown) else "")
