"""Sweeps, which run a grid of settings under many seeds of drawn faults.

A sweep shows what each cell costs in lost records and in availability. `grid` describes a sweep, and `grid_file` reads it.
`simulation` draws the faults of a seed and simulates a run. `execution` distributes the runs over processes or Spark, and keeps
finished runs. `statistics` estimates the results of each cell, `output` shows them, and `command` is `isrlab sweep`.
"""
