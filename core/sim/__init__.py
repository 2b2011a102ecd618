"""The kernel of the simulation, which knows no protocol: agenda, network, nodes, clock, journal, snapshots, and search over all schedules."""
