"""The laboratory: assembles a cluster from its spec, acts on it, shows it, accounts for its records, and takes it back in time."""
