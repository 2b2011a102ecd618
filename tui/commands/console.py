"""What every command shares with the shell: exit codes, the parser, complaints, text in and out."""

from __future__ import annotations

import argparse
import sys
from typing import Final, NoReturn

HELD: Final = 0
"""Exit code: all is well, every expectation held."""

FAILED: Final = 1
"""Exit code: an expectation failed."""

BAD_INPUT: Final = 2
"""Exit code: bad input; one message on stderr says what and where."""

BROKEN_PIPE: Final = 128 + 13
"""Exit code when the reader of stdout went away."""


class Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"isrlab: {message}; see '{self.prog} --help'\n")


def complain(message: str) -> None:
    """One line on stderr."""
    print(f"isrlab: {message}", file=sys.stderr, flush=True)


def read_text(source: str) -> str:
    """A text file, or stdin."""
    from scenarios import textfile

    if source == "-":
        return textfile.decode(textfile.take(sys.stdin.buffer, "<stdin>"), "<stdin>")
    return textfile.read_text(source)


def write_text(path: str | None, text: str) -> None:
    """A text to a file, or to stdout without one."""
    from scenarios.errors import InputError

    if path is None:
        sys.stdout.write(text)
        return
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as wrong:
        raise InputError(f"{path}: cannot be written: {wrong.strerror or wrong}") from None
    except ValueError:
        raise InputError(f"{path!r}: is no file name") from None
