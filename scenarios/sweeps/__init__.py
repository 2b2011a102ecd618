"""Sweeps. A sweep runs every cell of a grid of settings with many seeds. A seed determines the random faults of a run.

A sweep shows how many records each cell loses and how available the cell is. `grid` describes a sweep, and `grid_file` reads it.
`simulation` draws the faults of a seed and simulates runs. `execution` distributes the runs over workers, and keeps finished runs.
`statistics` estimates the results of each cell, and `output` shows the results. `catalogue` has the grids that come with isrlab.
"""
