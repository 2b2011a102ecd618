"""The simulation kernel: agenda, network, nodes, clocks, journal, snapshots, and search. The kernel is independent of any protocol."""
