"""The description of a sweep: cells of settings, a workload, and a fault model. All times are virtual, in µs."""
