"""Reads the values of fields: numbers, durations, percentages, brokers, partitions, and lists.

Error messages say which values are valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import attrs

from core.kafka.ids import TopicPartition, node_address
from core.kafka.settings.setting import Setting
from core.lab.spec import MAX_BROKER_ID, MAX_LOSS_PPM
from core.sim.units import SECOND, US_PER_MS, parse_duration
from scenarios.errors import did_you_mean
from scenarios.language.nodes import Fields, Items, Node, Text, shortened

MAX_COUNT: Final = 10**12
"""The maximum count or size in a script, which no count or size in Kafka exceeds."""

MAX_DURATION: Final = 10 * 365 * 86_400 * SECOND
"""The maximum duration in a script: ten years of virtual time, in µs."""

MILLION: Final = 1_000_000

_PERCENT: Final = re.compile(r"(\d{1,3})(?:\.(\d{1,4}))?\s*%")
_RATE: Final = re.compile(r"(\d{1,12}(?:\.\d{1,3})?)\s*([kMG]?)([bB])/s")
_PREFIXES: Final = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_TOPIC_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_CLIENT_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,99}")

T = TypeVar("T")


def as_fields(node: Node, remedy: str) -> Fields:
    """Return a node as a mapping. If the node is not a mapping, raise an error."""
    if not isinstance(node, Fields):
        raise node.error(f"expected a mapping, not {node.what()}", remedy)
    return node


def as_items(node: Node, remedy: str) -> Items:
    """Return a YAML node as a list. If the node is not a list, raise an error."""
    if not isinstance(node, Items):
        raise node.error(f"expected a list, not {node.what()}", remedy)
    return node


def as_text(node: Node, remedy: str = "write a word") -> str:
    """Read a scalar value that is not empty."""
    if not isinstance(node, Text):
        raise node.error(f"expected a single value, not {node.what()}", remedy)
    if node.empty or not node.text.strip():
        raise node.error("there is no value", remedy)
    return node.text.strip()


def as_setting(node: Node, setting: Setting) -> str:
    """Read the value of a setting. Only a setting that is a list or a class can be empty. In scripts, an empty value is written as ''."""
    if setting.type in ("list", "class") and isinstance(node, Text) and not node.empty:
        return node.text.strip()
    return as_text(node, "write a value")


def as_int(node: Node, least: int = 0, most: int = MAX_COUNT) -> int:
    """Read a whole number within bounds. `1_000` and `1000` are the same number."""
    remedy = f"write a whole number from {least} to {most}"
    text = as_text(node, remedy).replace("_", "")
    digits = text[1:] if text[:1] == "-" else text
    if not (digits.isascii() and digits.isdecimal()):
        raise node.error(f"{node.what()} is not a whole number", remedy)
    if len(digits) > 20 or not least <= int(text) <= most:
        raise node.error(f"{shortened(text)} is out of range", remedy)
    return int(text)


def as_bool(node: Node) -> bool:
    """Read `true` or `false`."""
    text = as_text(node, "write true or false").lower()
    if text not in ("true", "false"):
        raise node.error(f"{node.what()} is neither true nor false", "write true or false")
    return text == "true"


def as_word(node: Node, known: Iterable[str]) -> str:
    """Read a word, which must be one of the known words."""
    words = list(known)
    text = as_text(node, f"write one of {', '.join(words)}")
    if text not in words:
        raise node.error(f"unknown word '{shortened(text)}'", did_you_mean(text, words))
    return text


def as_duration(node: Node) -> int:
    """Read a duration, and return it in µs."""
    text = as_text(node, "write a duration, for example 500ms, 12s, or 1m30s")
    if text == "0":
        return 0
    try:
        duration = parse_duration(text)
    except ValueError:
        remedy = "write a number and a unit (us, ms, s, m, h, d), for example 500ms, 12s, or 1m30s"
        raise node.error(f"{node.what()} is not a duration", remedy) from None
    if duration > MAX_DURATION:
        raise node.error(f"{shortened(text)} is too long", "use at most ten years of virtual time (3650d)")
    return duration


def as_ppm(node: Node) -> int:
    """Read a percentage, and return it in parts per million. For example, return 50,000 for `5%`."""
    text = as_text(node, "write a percentage, for example 5% or 0.1%")
    match = _PERCENT.fullmatch(text)
    if match is None:
        raise node.error(f"{node.what()} is not a percentage", "write a percentage such as 5% or 0.1%, with at most four decimals")
    ppm = int(match[1]) * 10_000 + int((match[2] or "").ljust(4, "0"))
    if ppm > MILLION:
        raise node.error(f"{text} is more than 100%", "write 0% to 100%")
    return ppm


def as_rate(node: Node) -> int:
    """Read a bandwidth, and return it in bytes per second. `b` are bits, and `B` are bytes: `1Gb/s` and `125MB/s` are the same."""
    remedy = "write a number and a unit, for example 1Gb/s or 125MB/s (b are bits, and B are bytes)"
    text = as_text(node, remedy)
    match = _RATE.fullmatch(text)
    if match is None:
        raise node.error(f"{node.what()} is not a bandwidth", remedy)
    rate = int(float(match[1]) * _PREFIXES[match[2]] / (1 if match[3] == "B" else 8))
    if not 1 <= rate <= MAX_COUNT:
        raise node.error(f"{shortened(text)} is out of range", "write 1B/s to 1000GB/s")
    return rate


def as_loss(node: Node) -> int:
    """Read the percentage of messages that a link loses, and return it in parts per million."""
    ppm = as_ppm(node)
    if ppm > MAX_LOSS_PPM:
        most = write_ppm(MAX_LOSS_PPM)
        raise node.error(
            f"{node.what()} is too large",
            f"write at most {most}; for a link that loses all messages, use 'cut'",
        )
    return ppm


def as_signed(node: Node, read: Callable[[Node], int]) -> int:
    """Read a duration or a percentage that can be negative, for example `-5s` or `-0.1%`."""
    text = as_text(node, "write a value, for example 5s or -5s")
    if not text.startswith("-"):
        return read(node)
    assert isinstance(node, Text)
    return -read(attrs.evolve(node, text=text[1:]))


def as_broker(node: Node) -> int:
    """Read a broker ID, which is written as `2` or `b2`."""
    text = as_text(node, "write a broker's number, for example 2")
    digits = text[1:] if text[:1] == "b" else text
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 10 or int(digits) > MAX_BROKER_ID:
        raise node.error(f"{node.what()} is not a broker", "write a broker's number, for example 2 or b2")
    return int(digits)


def as_brokers(node: Node) -> tuple[int, ...]:
    """Read a list of broker ids."""
    return tuple(as_broker(item) for item in as_items(node, "write a list of broker numbers, for example [1, 2, 3]"))


def as_leader(node: Node) -> int:
    """Read a broker ID, or `none`, which means -1."""
    if isinstance(node, Text) and node.text in ("none", "-1"):
        return -1
    return as_broker(node)


def as_partition(node: Node) -> TopicPartition:
    """Read a partition, for example `orders-0`."""
    text = as_text(node, "write a partition as topic-number, for example orders-0")
    try:
        return TopicPartition.parse(text)
    except ValueError:
        raise node.error(f"{node.what()} is not a partition", "write topic-number, for example orders-0") from None


def as_node_name(node: Node) -> str:
    """Read the network address of a node: a broker, `controller`, `zookeeper`, or the name of a client."""
    remedy = "write a broker's number, 'controller', or a client's name"
    text = as_text(node, remedy)
    if not (text.isascii() and text.isdecimal()) and not _CLIENT_NAME.fullmatch(text):
        raise node.error(f"{node.what()} is not a node", remedy)
    return node_address(text)


def check_topic_name(node: Node, name: str) -> str:
    """Return the name of a topic. If Kafka does not allow the name, raise an error."""
    if not _TOPIC_NAME.fullmatch(name) or name in (".", ".."):
        raise node.error(f"'{shortened(name)}' is not a topic name", "use letters, digits, '.', '_', and '-', at most 249 characters")
    return name


def as_client_name(node: Node) -> str:
    """Read the name of a producer or a consumer."""
    text = as_text(node, "write a client's name")
    if not _CLIENT_NAME.fullmatch(text) or text in ("controller", "zookeeper"):
        raise node.error(
            f"{node.what()} is not a client name",
            "a client's name must start with a letter, and must differ from the names of the brokers and the controller",
        )
    return text


def each(node: Node, remedy: str, read: Callable[[Node], T]) -> tuple[T, ...]:
    """Read every item of a list with the same function.

    Raises:
        ScriptError: at least one item is invalid. The error message lists the mistakes in all items of the list.
    """
    items = as_items(node, remedy)
    with node.document.together():
        found = [item.tried(read, None) for item in items]
    return tuple(one for one in found if one is not None)


def write_duration(us: int) -> str:
    """Return a duration in the notation of scripts, exact to the µs, for example `500us`, `1500ms`, or `2s`."""
    if us and us % SECOND == 0:
        return f"{us // SECOND}s"
    if us and us % US_PER_MS == 0:
        return f"{us // US_PER_MS}ms"
    return f"{us}us"


def write_rate(rate: int) -> str:
    """Return a bandwidth in bytes per second in the notation of scripts, for example `125MB/s`."""
    prefix = next(prefix for prefix in ("G", "M", "k", "") if rate % _PREFIXES[prefix] == 0)
    return f"{rate // _PREFIXES[prefix]}{prefix}B/s"


def write_ppm(ppm: int) -> str:
    """Return a number of parts per million as a percentage in the notation of scripts, for example `0%` or `0.1%`."""
    whole, rest = divmod(ppm, 10_000)
    return f"{whole}.{rest:04d}".rstrip("0").rstrip(".") + "%"


def write_signed(value: int, write: Callable[[int], str]) -> str:
    """Return a duration or a percentage, which can be negative, in the notation of scripts."""
    return write(value) if value >= 0 else f"-{write(-value)}"
