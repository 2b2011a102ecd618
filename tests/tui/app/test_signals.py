"""Signals that end the playground, before, while, and after its event loop runs."""

from __future__ import annotations

import os
import signal

import pytest

from scenarios.io.termination_signals import SIGNALS
from tui.app.signals import leave_on_signals


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_delivered_once_the_app_listens(number: signal.Signals) -> None:
    before = [signal.signal(each, signal.SIG_DFL) for each in SIGNALS]
    told: list[int] = []
    try:
        with leave_on_signals() as wish:
            assert wish.code is None
            for each in (number, signal.SIGTERM):
                os.kill(os.getpid(), each)
            wish.on_request(told.append)
            os.kill(os.getpid(), number)
        assert (wish.code, told) == (128 + number, [128 + number])
        with leave_on_signals() as wish:
            wish.on_request(told.append)
            os.kill(os.getpid(), number)
        assert told == [128 + number] * 2
        assert [signal.getsignal(each) for each in SIGNALS] == [signal.SIG_DFL] * 3
    finally:
        for each, handler in zip(SIGNALS, before, strict=True):
            signal.signal(each, handler)


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with leave_on_signals() as wish:
            os.kill(os.getpid(), signal.SIGHUP)
        assert wish.code is None
    finally:
        signal.signal(signal.SIGHUP, before)
