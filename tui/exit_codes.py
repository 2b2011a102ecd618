"""Exit codes of `isrlab`."""

from __future__ import annotations

from typing import Final

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
