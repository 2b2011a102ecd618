"""The laboratory, which builds a cluster from a spec, acts on it, shows it, keeps accounts of its records, and takes it back in time."""
