"""The parts that all commands share: the argument parser, and functions that read and write text."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from scenarios.io.escaping import escape_line
from scenarios.io.standard_streams import NAME, print_text
from tui.exit_codes import BAD_INPUT


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error on one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, escape_line(f"{NAME}: {message}; see '{self.prog} --help'") + "\n")


def read_text(source: str) -> str:
    """Read a text file, or stdin if the source is `-`."""
    from scenarios.errors import InputError
    from scenarios.io import text_file

    if source == "-":
        if sys.stdin is None:
            raise InputError("<stdin>: cannot be read: it is closed")
        return text_file.decode(text_file.take(sys.stdin.buffer, "<stdin>"), "<stdin>")
    return text_file.read_text(source)


def write_text(path: str | None, text: str) -> None:
    """Write text to a file or, if the path is None or `-`, to stdout."""
    from scenarios.io.output_files import write_atomically

    if path is None or path == "-":
        print_text(text)
    else:
        write_atomically(path, text)
