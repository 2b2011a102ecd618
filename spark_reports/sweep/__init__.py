"""Sweeps: the same workload and the same drawn faults under many settings, and what they cost in records and in availability.

`grid` is what a sweep is made of and `reading` how it is written; `faults` draws a seed's faults, `episodes` lays them out
in time, `play` runs one stretch of them on the core, `runs` a whole (cell, seed). Those four need the core and attrs only:
they are what executors get. `workers` and `on_spark` run them side by side, `store` keeps what is finished, `estimates` and
`outcome` make the table, `terminal` and `html` show it, `script` writes a seed as a scenario, and `sweep` is the command.
"""
