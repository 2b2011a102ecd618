"""The names of retry topics and dead-letter topics (Spring Kafka: `RetryTopicNamesProviderFactory`, `SuffixingRetryTopicNamesProviderFactory`)."""

from __future__ import annotations

from core.sim.units import US_PER_MS


def suffixes(delays: tuple[int, ...], *, by_index: bool) -> tuple[str, ...]:
    """Return the suffix of each retry topic, which is its delay in ms or its index. If several topics have the same delay, an index is
    appended to the delay."""
    if by_index:
        return tuple(f"-retry-{number}" for number in range(len(delays)))
    found = []
    for number, delay in enumerate(delays):
        again = f"-{delays[:number].count(delay)}" if delays.count(delay) > 1 else ""
        found.append(f"-retry-{delay // US_PER_MS}{again}")
    return tuple(found)


def dead_letter_topic(topic: str) -> str:
    """Return the name of a topic's dead-letter topic."""
    return f"{topic}-dlt"


def chain(topic: str, delays: tuple[int, ...], *, by_index: bool) -> tuple[str, ...]:
    """Return the topics that a record passes through: the original topic, the retry topics, and the dead-letter topic."""
    return (topic, *(topic + suffix for suffix in suffixes(delays, by_index=by_index)), dead_letter_topic(topic))


def retry_worker(service: str, topic: str) -> str:
    """Return the name of the worker for a topic."""
    return f"{service}-{topic}"
