"""Writes the output files of a command atomically: a file appears under its name only when it is complete.

Until a file is complete, it has a temporary name in the same directory (`.isrlab-….part`). A temporary file is left behind only if the
process is killed. An error never damages an existing file. An existing file is replaced, and its permissions are kept. A symbolic link is
kept, and its target is replaced. Pipes, devices, and `/dev/stdout` are written directly. A command refuses to write a file that it also
reads.
"""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

from scenarios.errors import InputError
from scenarios.io.standard_streams import OutputLost

STDOUT: Final = 1
"""The file descriptor of stdout, which the file name `-` stands for."""

_STREAMS: Final = {"/dev/stdin": 0, "/dev/stdout": STDOUT, "/dev/stderr": 2}
_DESCRIPTOR: Final = re.compile(r"/dev/fd/(\d{1,9})|/proc/self/fd/(\d{1,9})")

_BUFFERED: Final = 1 << 20
"""The size of the write buffer, in bytes."""

_numbers: Final = itertools.count()


class Writes(Protocol):
    """An object whose `write` method accepts text."""

    def write(self, text: str, /) -> object: ...


class OutputFile:
    """A file that is being written.

    Attributes:
        path: the name of the file.
        file: the open file. If `appear` must copy the file instead of renaming it, `file` becomes the copy.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the file under a temporary name.

        Raises:
            InputError: the file cannot be written.
        """
        self.path = path
        self._part: str | None = None
        self._before: str | None = None
        self._revocable = False
        self._stream: int | None = None
        try:
            self._target = os.path.realpath(path)
            self.file = self._opened()
        except OSError as wrong:
            self._remove_part()
            raise cannot_be_written(path, wrong) from None
        except ValueError:
            raise InputError(f"{str(path)!r}: not a file name") from None
        except BaseException:  # a signal ends the command
            self._remove_part()
            raise

    def _opened(self) -> io.FileIO:
        self._stream = stream_of(self.path)
        if self._stream is not None:
            if self._stream == STDOUT:
                sys.stdout.flush()
            return io.FileIO(os.dup(self._stream), "wb")
        found = os.stat(self._target) if os.path.exists(self._target) else None
        if found is not None and not stat.S_ISREG(found.st_mode):
            return io.FileIO(self._target, "wb")
        if found is not None and not os.access(self._target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        descriptor = self._open_part(found is not None)
        if found is not None:
            with contextlib.suppress(OSError):
                os.fchmod(descriptor, stat.S_IMODE(found.st_mode))
        return io.FileIO(descriptor, "r+b")

    def _open_part(self, replaces: bool) -> int:
        name = f".isrlab-{os.getpid()}-{next(_numbers)}.part"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._part = os.path.join(os.path.dirname(self._target), name)
        try:
            return os.open(self._part, flags, 0o666)
        except OSError as wrong:
            if not replaces or wrong.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
        # The file can be written, but not its directory.
        import tempfile

        self._part = os.path.join(tempfile.gettempdir(), name)
        return os.open(self._part, flags, 0o600)

    @property
    def hidden(self) -> bool:
        """Whether the file still has its temporary name."""
        return self._part is not None

    @property
    def where(self) -> str:
        """The current name of the file."""
        return self._part or self._target

    def appear(self, *, revocable: bool = False) -> None:
        """Rename the file from its temporary name to its final name. Anything written later is visible under the final name immediately.

        Args:
            revocable: whether to keep a replaced file for `revoke`, until `discard` is called.

        Raises:
            OSError: the file cannot be renamed.
        """
        if self._part is None:
            return
        if revocable:
            self._keep_before()
        try:
            os.replace(self._part, self._target)
        except OSError:
            self._forget_before()
            # The target is on another file system, or is itself a mount, as files in containers are.
            import shutil  # This import is a large part of what `isrlab run` loads.

            with open(self._part, "rb") as part:
                whole = io.FileIO(self._target, "r+b")
                whole.truncate()
                shutil.copyfileobj(part, whole)
            self.file.close()
            self.file = whole
            os.unlink(self._part)
        self._part = None

    def _keep_before(self) -> None:
        """If the file system supports hard links, keep a hard link to the file that is about to be replaced."""
        self._revocable = not os.path.exists(self._target)
        if not self._revocable:
            before = os.path.join(os.path.dirname(self._target), f".isrlab-{os.getpid()}-{next(_numbers)}.part")
            with contextlib.suppress(OSError):
                os.link(self._target, before)
                self._before, self._revocable = before, True

    def _forget_before(self) -> None:
        self._revocable = False
        if self._before is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._before)
            self._before = None

    def revoke(self) -> None:
        """Remove the file, even if it has already appeared under its name. If this file replaced a file that was kept, restore the replaced
        file.
        """
        with contextlib.suppress(OSError):
            if self._before is not None:
                os.replace(self._before, self._target)
                self._before = None
            elif self._revocable:
                os.unlink(self._target)
        self.discard()

    def write(self, data: bytes) -> None:
        """Write all the data.

        Raises:
            OSError: the write failed.
        """
        view = memoryview(data)
        while view:
            view = view[self.file.write(view) or 0 :]

    def discard(self) -> None:
        """Close the file, and remove it if it still has its temporary name."""
        with contextlib.suppress(OSError):
            self.file.close()
        self._forget_before()
        self._remove_part()

    def _remove_part(self) -> None:
        """Remove the file if it still has its temporary name."""
        if self._part is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._part)
            self._part = None

    def failed(self, wrong: OSError) -> Exception:
        """Return the exception to raise after a failed write."""
        return OutputLost(wrong) if self._stream == STDOUT else cannot_be_written(self.path, wrong)


class AtomicFile:
    """A buffered writer of text and bytes to an `OutputFile`."""

    def __init__(self, output: OutputFile) -> None:
        self._output = output
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, data: str | bytes, /) -> int:
        """Write text or bytes to the buffer.

        Raises:
            InputError: the file cannot be written.
        """
        chunk = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
        self._waiting.append(chunk)
        self._size += len(chunk)
        if self._size >= _BUFFERED:
            self.flush()
        return len(data)

    def flush(self) -> None:
        """Write the buffer to the file.

        Raises:
            InputError: the file cannot be written.
        """
        chunk = b"".join(self._waiting)
        self._waiting.clear()
        self._size = 0
        try:
            self._output.write(chunk)
        except OSError as wrong:
            raise self._output.failed(wrong) from None


@contextlib.contextmanager
def atomic_file(path: str | Path) -> Iterator[AtomicFile]:
    """Open a file that is not visible under its name until the `with` block ends. If the block raises an exception, no file appears.

    Raises:
        InputError: the file cannot be written.
    """
    output = OutputFile(path)
    try:
        file = AtomicFile(output)
        yield file
        file.flush()
        try:
            if output.hidden:
                os.fsync(output.file.fileno())
            output.appear()
            output.file.close()
        except OSError as wrong:
            raise output.failed(wrong) from None
    except BaseException:
        output.discard()
        raise


def write_atomically(path: str | Path, text: str) -> None:
    """Write text to a file atomically.

    Raises:
        InputError: the file cannot be written.
    """
    with atomic_file(path) as file:
        file.write(text)


@contextlib.contextmanager
def atomic_entries(directory: str | Path) -> Iterator[Path]:
    """Provide a temporary directory. At the end of the block, the entries of the temporary directory are moved to `directory`, where they
    replace entries with the same names.

    If `directory` does not exist, it is created, and it is removed again if it stays empty.

    Raises:
        InputError: `directory` cannot be created or written. Exceptions that the block raises are passed on unchanged.
    """
    import shutil

    root = Path(directory)
    missing = [each for each in (root, *root.parents) if not each.exists()]
    part = root / f".isrlab-{os.getpid()}-{next(_numbers)}.part"
    try:
        try:
            part.mkdir(parents=True)
        except OSError as wrong:
            raise cannot_be_written(root, wrong) from None
        yield part
        try:
            _put_in_place(part, root)
        except OSError as wrong:
            raise cannot_be_written(root, wrong) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
        with contextlib.suppress(OSError):
            for each in missing:
                each.rmdir()


def _put_in_place(part: Path, root: Path) -> None:
    """Move every entry of `part` to `root`. The entries of `root` that are replaced are moved to `part`."""
    for entry in sorted(part.iterdir()):
        target, before = root / entry.name, part / f".before-{entry.name}"
        if target.exists() or target.is_symlink():
            target.rename(before)
            try:
                entry.rename(target)
            except OSError:
                before.rename(target)
                raise
        else:
            entry.rename(target)


def check_outputs(outputs: Mapping[str, str | Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Before the command starts, reject output files that cannot be written, that are also inputs, or that two options name.

    Args:
        outputs: the name of the output file that each option gives; None for no file, `-` for stdout.
        inputs: the files that the command reads.

    Raises:
        InputError: an output file cannot be used. The error message names the option.
    """
    taken = {found: "an input of this command" for path in inputs if (found := _identity(path)) is not None}
    to_stdout = [option for option, path in outputs.items() if path is not None and is_stdout(path)]
    if len(to_stdout) > 1:
        raise InputError(f"{to_stdout[1]}: {to_stdout[0]} already writes to stdout; name a file")
    for option, path in outputs.items():
        if path is None or str(path) == "-":
            continue
        try:
            _check_output(option, Path(path))
        except ValueError:
            raise InputError(f"{option}: {str(path)!r} is not a file name") from None
        except OSError as wrong:
            raise InputError(f"{option}: {str(path)[:80]}: cannot be written: {wrong.strerror or wrong}") from None
        identity = _identity(path)
        if identity in taken:
            raise InputError(f"{option}: {path} is {taken[identity]}; name another file")
        if identity is not None:
            taken[identity] = f"the output of {option}" if not option.startswith("--") else f"the file for {option}"


def _check_output(option: str, path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{option}: {path} is a directory; name a file")
    if stream_of(path) is not None:
        return
    target = Path(os.path.realpath(path))
    if not target.exists() and not target.parent.is_dir():
        raise InputError(f"{option}: there is no directory {target.parent if path.is_symlink() else path.parent}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise InputError(f"{option}: {path}: cannot be written: {os.strerror(errno.EACCES)}")


def same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two names refer to the same file, which does not need to exist. An invalid name or the name of a pipe or device never refers
    to the same file.
    """
    found = _identity(one)
    return found is not None and found == _identity(other)


def _identity(path: str | Path | None) -> object:
    """Return a value that is the same for all names of a file, including links.

    For a pipe or a device, the value is None, because a command can read and write the same pipe or device at the same time.
    """
    if path is None or str(path) == "-":
        return None
    try:
        found = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    except ValueError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) else None


def stream_of(path: str | Path) -> int | None:
    """Return the file descriptor that a name such as `/dev/stdout` or `-` refers to.

    The descriptor is needed because opening the target of such a name as a file would overwrite the target from its start.
    """
    if str(path) == "-":
        return STDOUT
    name = os.path.abspath(path)
    seen = set()
    while name not in seen:
        seen.add(name)
        if name in _STREAMS:
            return _STREAMS[name]
        if (match := _DESCRIPTOR.fullmatch(name)) is not None:
            return int(match[1] or match[2])
        if not os.path.islink(name):
            return None
        name = os.path.join(os.path.dirname(name), os.readlink(name))
    return None


def is_stdout(path: str | Path) -> bool:
    """Whether a name refers to stdout."""
    try:
        return stream_of(path) == STDOUT
    except (OSError, ValueError):
        return False


def refuse_stdout(option: str, path: str | Path | None, instead: str) -> None:
    """Reject `-` as the name of an output that cannot be written to stdout.

    Raises:
        InputError: `path` is `-`. The error message says what to use instead of stdout.
    """
    if path is not None and str(path) == "-":
        raise InputError(f"{option}: '-' means stdout, which is not possible here; name {instead}")


def cannot_be_written(path: str | Path, wrong: OSError) -> InputError:
    """Return the error for a file that cannot be written."""
    # The libraries that write some of the files put the error of the system into sentences of their own.
    return InputError(f"{path}: cannot be written: {os.strerror(wrong.errno) if wrong.errno else wrong}")
