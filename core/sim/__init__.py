"""The simulated world: clock and scheduler, network, and the cluster that ties the nodes together."""
