"""The laboratory, which builds a cluster from a spec, acts on it, shows it, accounts for its records, and takes it back in time."""
