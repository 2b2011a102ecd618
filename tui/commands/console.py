"""What every command shares with the shell: exit codes, the parser, text in and out."""

from __future__ import annotations

import argparse
import sys
from typing import Final, NoReturn

from scenarios.printing import NAME, say_text
from scenarios.visible import visible_line

HELD: Final = 0
"""Exit code: all is well, every expectation held."""

FAILED: Final = 1
"""Exit code: an expectation failed."""

BAD_INPUT: Final = 2
"""Exit code: bad input; one message on stderr says what and where."""

INTERNAL: Final = 70
"""Exit code (`EX_SOFTWARE` of sysexits.h): the playground itself failed; a message on stderr says where the session is saved."""

OUTPUT_LOST: Final = 74
"""Exit code: stdout could not be written, for example on a full disk (`EX_IOERR` of sysexits.h)."""

BROKEN_PIPE: Final = 128 + 13
"""Exit code when the reader of stdout went away: that of SIGPIPE, as a shell reports it."""


class Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, visible_line(f"{NAME}: {message}; see '{self.prog} --help'") + "\n")


def read_text(source: str) -> str:
    """A text file, or stdin."""
    from scenarios import textfile
    from scenarios.errors import InputError

    if source == "-":
        if sys.stdin is None:
            raise InputError("<stdin>: cannot be read: it is closed")
        return textfile.decode(textfile.take(sys.stdin.buffer, "<stdin>"), "<stdin>")
    return textfile.read_text(source)


def write_text(path: str | None, text: str) -> None:
    """A text to a file, or to stdout: without one, or to `-`."""
    from scenarios.output_files import write_whole

    if path is None or path == "-":
        say_text(text)
    else:
        write_whole(path, text)
