"""The state of a simulation as a value: which fields hold it, snapshots, and fingerprints."""
