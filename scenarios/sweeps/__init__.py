"""Sweeps. A sweep runs every cell of a grid with many seeds. A seed determines the random faults of a run.

A sweep shows how many records each cell loses and how available the cell is. What a cell runs, and what is measured, is an `Experiment`:
Kafka under its settings, or replication models. `grid` describes a sweep, and `grid_file` reads it. `simulation` draws the faults of a seed
and simulates runs, with a folder for each experiment. `execution` distributes the runs over workers, and keeps finished runs. `statistics`
estimates the results of each cell, and `output` shows them, with a `Presentation` for each experiment.
"""
