"""Signals of the programs that tests start."""

from __future__ import annotations

import signal

from scenarios.io.termination_signals import SIGNALS


def heard() -> None:
    """For a process just forked: signals end it as they end what a shell starts, also where the suite ignores them (`nohup`, `&` in a script)."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
