"""The offsets that `kafka-consumer-groups --reset-offsets` sets (Kafka: `OffsetsUtils`, before 4.2 `ConsumerGroupCommand`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from core.kafka.clients.group_member.member_config import reset_duration
from core.kafka.ids import TopicPartition
from core.sim.units import SECOND, US_PER_MS

TO_EARLIEST: Final = "to-earliest"
TO_LATEST: Final = "to-latest"
TO_CURRENT: Final = "to-current"
TO_OFFSET: Final = "to-offset"
SHIFT_BY: Final = "shift-by"
TO_DATETIME: Final = "to-datetime"
BY_DURATION: Final = "by-duration"
FROM_FILE: Final = "from-file"

DATETIME: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})(?:Z|([+-])(\d\d):?(\d\d)?)?")
"""Matches a date and time in the tool's format. Without a time zone, the time is UTC. Virtual time begins at 1970-01-01T00:00:00.000Z."""

DAYS_BEFORE: Final = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
"""The number of days in a year before each month."""

DAYS_TO_1970: Final = 719_162
"""The number of days from January 1, 0001, to January 1, 1970."""


class Target(NamedTuple):
    """The target of an offset reset.

    Attributes:
        option: the name of the tool's option.
        number: the value of `to-offset` or `shift-by`, or the target time in µs for `to-datetime` and `by-duration`.
        offsets: the offsets in the file that `from-file` names.
    """

    option: str
    number: int = 0
    offsets: tuple[tuple[TopicPartition, int], ...] = ()


class LogBounds(NamedTuple):
    """The offsets that the leader of a partition returns for a reset.

    Attributes:
        start: the log start offset.
        end: the high watermark.
        at_time: the offset of the first record at or after the time that the target specifies; -1 if there is none.
    """

    start: int
    end: int
    at_time: int = -1


def moment(text: str) -> int:
    """Return the time that `--to-datetime` specifies, in µs (`Utils#getDateTime`).

    Raises:
        ValueError: the string is not a valid date and time.
    """
    if "T" not in text:
        raise ValueError("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
    found = DATETIME.fullmatch(text)
    if found is None:
        raise ValueError(f'Unparseable date: "{text[:80]}"')
    year, month, day, hour, minute, second, milliseconds = (int(found[number]) for number in range(1, 8))
    if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 60):
        raise ValueError(f'Unparseable date: "{text[:80]}"')
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    past = year - 1
    days = past * 365 + past // 4 - past // 100 + past // 400 + DAYS_BEFORE[month - 1] + (leap and month > 2) + day - 1 - DAYS_TO_1970
    ahead = 0 if found[8] is None else (int(found[9]) * 60 + int(found[10] or 0)) * (1 if found[8] == "+" else -1)
    return (((days * 24 + hour) * 60 + minute - ahead) * 60 + second) * SECOND + milliseconds * US_PER_MS


def moment_before(now: int, text: str) -> int:
    """Return the time that `--by-duration` specifies, in µs.

    Raises:
        ValueError: the string is not a valid duration.
    """
    try:
        return now - reset_duration(f"by_duration:{text}")
    except ValueError:
        raise ValueError("Text cannot be parsed to a Duration") from None


def new_offset(target: Target, tp: TopicPartition, bounds: LogBounds, committed: int | None, warn: Callable[[str], None]) -> int:
    """Return the new offset of a partition. An offset outside the log is replaced by the nearest offset inside it (`#checkOffsetsRange`).

    Args:
        target: the option that determines the new offset, with its value.
        tp: the partition.
        bounds: the bounds of the log, as returned by the partition's leader.
        committed: the committed offset; None if there is none.
        warn: a function that is called with the tool's warnings.

    Raises:
        ValueError: `shift-by` was requested for a partition that has no committed offset.
    """
    start, end = bounds.start, bounds.end
    if target.option == TO_EARLIEST:
        return start
    if target.option == TO_LATEST:
        return end
    if target.option == TO_CURRENT:
        return end if committed is None else committed
    if target.option in (TO_DATETIME, BY_DURATION):
        return end if bounds.at_time < 0 else bounds.at_time
    if target.option == FROM_FILE:
        wanted = dict(target.offsets)[tp]
    elif target.option == SHIFT_BY:
        if committed is None:
            raise ValueError(f"Cannot shift offset for partition {tp} since there is no current committed offset")
        wanted = committed + target.number
    else:
        wanted = target.number
    if wanted > end:
        warn(f"New offset ({wanted}) is higher than latest offset for topic partition {tp}. Value will be set to {end}")
        return end
    if wanted < start:
        warn(f"New offset ({wanted}) is lower than earliest offset for topic partition {tp}. Value will be set to {start}")
        return start
    return wanted
