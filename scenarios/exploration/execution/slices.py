"""Plays a slice of the tasks of a search in any process, which may have played other slices before. Everything comes and goes as bytes."""

from __future__ import annotations

import pickle

from scenarios.exploration.player import Player

_player: tuple[bytes, Player] | None = None
"""The request that was played last, with its player. Building the cluster and doing its acts takes longer than many runs."""


def play_slice(request: bytes, tasks: bytes) -> bytes:
    """Play tasks of a search, and return the runs of each. Only bytes that this program has made may be passed.

    Args:
        request: the pickled `Request`.
        tasks: pickled: the tasks, the keys of the situations that were reached with fewer faults, and whether no more faults can follow.
    """
    global _player
    if _player is None or _player[0] != request:
        asked = pickle.loads(request)
        _player = request, Player(asked.start.cluster(), asked.bounds())
    player = _player[1]
    several, fewer, last = pickle.loads(tasks)
    return pickle.dumps([[player.run(task, fewer, last, number) for number in range(len(task.acts))] for task in several])
