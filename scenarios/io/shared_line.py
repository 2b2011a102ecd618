"""A script as one line that people can paste: `isrlab:`, a version, and the compressed text.

A line has only letters, digits, `-`, and `_` after the colon, so that shells and chats leave it alone. The text is compressed with a dictionary of
phrases that scripts often contain. The dictionary belongs to the version and never changes.
"""

from __future__ import annotations

import base64
import zlib
from typing import Final

from scenarios.errors import InputError

PREFIX: Final = "isrlab:"
VERSION: Final = "1"
MOST_LENGTH: Final = 2_000
"""The maximum length of a line that is made. A longer one is not readable for people, and chats cut it off."""

MOST_READ: Final = 20_000
"""The maximum length of a line that is read."""

MOST_TEXT: Final = 1_000_000
"""The maximum length of the text in a line, in bytes. More is refused before it is decompressed."""

_PHRASES: Final = (
    b"unclean.leader.election.enable: true\nreplica.lag.time.max.ms: 10000\nmin.insync.replicas: 2\nstorage: \nlatency: jitter: \n"
    b"begin-transaction: {producer: commit-transaction: {abort-transaction: {transactional-id: isolation: read_committed\n"
    b"join-group: {consumer: m1, group: billing, topics: [orders], reset: earliest, commit: async, leave-group: \n"
    b"expect:\n- lost == 0\n- never records-lost\n  until: happened leader-elected {partition=orders-0}\n  within: 10s\n"
    b"link: {between: [b1, b2], one-way: true}\n  hold: \n  release: \n  power-loss: \n  fail-dir: {broker: \n  slow-disk: {broker: \n"
    b"reassign: {topic: \n  elect: {partition: \n  set: {name: \n  cut: [b1, b3]\n  heal: all\n  isolate: \n  pause: \n  resume: \n  shutdown: \n"
    b"produce: {topic: orders, records: 100, acks: all, producer: app}\n  load: {topic: orders, rate: 100, producer: app}\n  consume: {topic: orders}\n"
    b"scenario: session\nabout: 'A recording of a session in the playground, 00:00:00.000 long.'\nreleases: ['4.3']\nseed: 0\ncluster:\n  brokers: 3\n"
    b"  topics:\n    orders:\n      partitions: 3\n      replication-factor: 3\n      replicas: [[1, 2, 3], [2, 3, 1], [3, 1, 2]]\n      config: {}\n"
    b"timeline:\n- at: 1s\n  note: the session ended here\n- at: 2s\n  kill: 1\n- at: 3s\n  start: 1\nsteps:\n- wait: 0s\n  fetch: 2\n"
)


def shared_line(script: str) -> str:
    """Return a script as one line.

    Raises:
        InputError: the line would be longer than `MOST_LENGTH`.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_DEFAULT_STRATEGY, _PHRASES)
    packed = packer.compress(script.encode("utf-8")) + packer.flush()
    line = PREFIX + VERSION + base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")
    if len(line) > MOST_LENGTH:
        raise InputError(
            f"the session is too long for one line ({len(line):,} characters, {MOST_LENGTH:,} at most); save it as a file, and send the file"
        )
    return line


def script_in(line: str) -> str:
    """Return the script in a line that `shared_line` made.

    Raises:
        InputError: the line is damaged, too long, or of an unknown version.
    """
    body = line.strip().removeprefix(PREFIX)
    if len(body) > MOST_READ:
        raise InputError(f"the shared line has more than {MOST_READ:,} characters")
    if body[:1] != VERSION:
        raise InputError(f"'{line[:20]}…' is not a line that this isrlab reads; it begins with {PREFIX}{VERSION}")
    damaged = InputError("the shared line is damaged or incomplete; copy it again, as a whole and without spaces")
    try:
        packed = base64.b64decode(body[1:] + "=" * (-len(body[1:]) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj(15, _PHRASES)
        text = unpacker.decompress(packed, MOST_TEXT)
        if not unpacker.eof:
            raise InputError(f"the script in the shared line is longer than {MOST_TEXT:,} bytes") if unpacker.unconsumed_tail else damaged
        if unpacker.unused_data:
            raise damaged
        return text.decode("utf-8")
    except (ValueError, zlib.error):
        raise damaged from None
