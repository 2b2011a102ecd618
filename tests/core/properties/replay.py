"""Plays the timeline that is pickled on stdin and prints every event, for a test that starts this program under several hash seeds."""

from __future__ import annotations

import pickle
import sys

from tests.core.properties.timelines import events_of

if __name__ == "__main__":
    for event in events_of(pickle.load(sys.stdin.buffer)):
        print(event)
