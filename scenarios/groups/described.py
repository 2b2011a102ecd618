"""The output of `kafka-consumer-groups --describe` as data: the result of `parse`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import attrs

from core.kafka.ids import TopicPartition
from scenarios.errors import InputError
from scenarios.groups.facts import Group


class DescribedEnd(NamedTuple):
    """The log end offset of a partition, and the place in the pasted text that shows the offset, as `source:line`."""

    offset: int
    place: str


@attrs.frozen
class GroupsImport:
    """The result of parsing the output of `kafka-consumer-groups --describe`.

    Attributes:
        groups: the groups in order of appearance.
        places: for each group and partition, the place in the pasted text that names them first, as `source:line`.
        log_ends: the log end offset of each partition, if the pasted text shows the offset. If rows differ, the largest offset is used.
        notes: a note for each part of the pasted text that could not be used.
        source: the name of the source of the first text that was parsed.
    """

    groups: tuple[Group, ...]
    places: Mapping[tuple[str, TopicPartition], str]
    log_ends: Mapping[TopicPartition, DescribedEnd]
    notes: tuple[str, ...] = ()
    source: str = "<stdin>"


class GroupsError(InputError):
    """The error that is raised if pasted text describes no group, or if no cluster can have the groups that it describes. The message has
    the form `source:line: problem; remedy`.
    """
