"""Exit codes of `isrlab`."""

from __future__ import annotations

from typing import Final

HELD: Final = 0
"""Exit code: success; every expectation was true."""

FAILED: Final = 1
"""Exit code: at least one expectation failed."""

BAD_INPUT: Final = 2
"""Exit code: bad input. Messages on stderr describe each mistake and its location."""

LIMIT_REACHED: Final = 3
"""Exit code: a run was stopped at a limit, so its expectations are not known. A message on stderr names the run and the limit."""

INTERNAL: Final = 70
"""Exit code (`EX_SOFTWARE` of sysexits.h): the playground itself failed. A message on stderr names the file with the saved session."""

OUTPUT_LOST: Final = 74
"""Exit code: stdout could not be written, for example on a full disk (`EX_IOERR` of sysexits.h)."""

BROKEN_PIPE: Final = 128 + 13
"""Exit code: the reader of stdout closed the pipe. A shell reports the same code for SIGPIPE."""
