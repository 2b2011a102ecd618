"""The simulation kernel: agenda, network, nodes, clocks, journal, snapshots, and search. It is independent of any protocol."""
