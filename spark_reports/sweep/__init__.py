"""Sweeps: run a grid of settings under many seeds of drawn faults.

A sweep shows what each cell costs in lost records and in availability. `grid` says what a sweep runs, and `grid_file` reads it.
`simulation` draws the faults of a seed and simulates a run. `execution` distributes the runs over processes or Spark, and keeps finished
ones. `statistics` estimates the results of each cell, `output` shows them, and `command` is `isrlab sweep`.
"""
