"""The tests of running clusters do not wait between requests to brokers that are not real; `test_reading_only` tests the waits with its own clock."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from scenarios.live.network import pacing


@pytest.fixture(scope="session", autouse=True)
def without_waits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("ISRLAB_LIVE"):
            patch.setattr(pacing, "REQUESTS_PER_SECOND", 1e6)
        yield
