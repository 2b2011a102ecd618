"""The files, standard streams, and signals of a command: escaping for terminals, atomic output, and cleanup after termination signals."""
