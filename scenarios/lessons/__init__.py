"""Lessons: guided sessions that say what to look at, ask what will happen, wait for acts, and reveal what did happen.

A lesson is a YAML file (`reader`). `player` is the state machine that every host of a lesson drives: the playground, which shows its texts,
and `headless`, which plays a lesson with given answers to its end.
"""
