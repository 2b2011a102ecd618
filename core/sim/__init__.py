"""The kernel of the simulation, which knows no protocol: agenda, network, node, clock, journal, and the simulation that runs them."""
