"""The simulation kernel: agenda, network, nodes, clocks, journal, snapshots, and search. It knows no protocol."""
