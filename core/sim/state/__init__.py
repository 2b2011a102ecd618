"""The state of a simulation as a value: the fields that hold it, snapshots, and fingerprints."""
