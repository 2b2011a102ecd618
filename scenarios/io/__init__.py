"""Files, standard streams and signals of a command: text escaped for terminals, output that appears whole or not at all, orderly termination."""
