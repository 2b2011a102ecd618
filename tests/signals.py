"""Signal handling of the programs that tests start."""

from __future__ import annotations

import signal

from scenarios.io.termination_signals import SIGNALS


def heard() -> None:
    """Restore the default handling of signals in a forked process, as in programs that a shell starts, even if the suite ignores them
    (`nohup`, `&` in a script).
    """
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
